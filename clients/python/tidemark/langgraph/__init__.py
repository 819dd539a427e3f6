"""Checkpoints of LangGraph for Python in a Tidemark store. Needs `langgraph-checkpoint`: `pip install
tidemark[langgraph]`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .saver import TidemarkSaver

__all__ = ["TidemarkSaver"]


def __getattr__(name: str) -> Any:
    """Imports the saver on first use, so that the stored layout can be read without LangGraph."""
    if name != "TidemarkSaver":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from .saver import TidemarkSaver

    return TidemarkSaver
