"""Reads threads, namespaces and checkpoint ids from the configurations that LangGraph passes."""

from __future__ import annotations

from typing import Any

from langchain_core.runnables import RunnableConfig

from ..errors import invalid_argument
from .layout import Branch


def branch_of(config: RunnableConfig) -> Branch:
    """Returns the thread and the namespace. The namespace is empty for the outermost graph."""
    thread = _text(config, "thread_id")
    if not thread:
        raise invalid_argument("configurable.thread_id", "given")
    return Branch(thread, namespace_of(config) or "")


def namespace_of(config: RunnableConfig) -> str | None:
    """Returns the namespace, or `None` if the configuration names none."""
    return _text(config, "checkpoint_ns")


def checkpoint_id_of(config: RunnableConfig | None) -> str | None:
    """Returns the checkpoint id, or `None` for the latest."""
    return None if config is None else _text(config, "checkpoint_id") or None


def config_of(branch: Branch, id: str) -> RunnableConfig:
    """Returns the configuration of a checkpoint."""
    names = {"thread_id": branch.thread, "checkpoint_ns": branch.namespace, "checkpoint_id": id}
    return {"configurable": names}


def _text(config: RunnableConfig, name: str) -> str | None:
    value: Any = config.get("configurable", {}).get(name)
    if value is None or isinstance(value, str):
        return value
    # As in LangGraph's own savers, an id of another type and its text name the same thread.
    return str(value)
