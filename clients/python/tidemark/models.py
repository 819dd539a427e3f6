"""PenguiFlow's data classes as defined in its specification. Reads return these if PenguiFlow is
not installed."""

from __future__ import annotations

import uuid
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timezone
from typing import Any


def _new_id() -> str:
    return uuid.uuid4().hex


def _now() -> datetime:
    return datetime.now(timezone.utc)


@dataclass(slots=True)
class StoredEvent:
    """A runtime event of a flow. Events with `trace_id=None` have their own history."""

    trace_id: str | None
    ts: float
    kind: str
    node_name: str | None = None
    node_id: str | None = None
    payload: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class RemoteBinding:
    """A remote worker that serves a trace, and the session of the router that delegated to it."""

    trace_id: str
    context_id: str | None
    task_id: str
    agent_url: str
    router_session_id: str | None = None
    remote_skill: str | None = None
    tenant_id: str | None = None
    user_id: str | None = None
    last_remote_task_id: str | None = None
    is_terminal: bool = False
    metadata: Mapping[str, Any] = field(default_factory=dict)


@dataclass(slots=True)
class TaskState:
    """A task of a session."""

    task_id: str
    session_id: str
    status: str
    task_type: str
    priority: int
    context_snapshot: Any
    trace_id: str | None = None
    result: Any = None
    error: Any = None
    description: str | None = None
    progress: Any = None
    created_at: datetime = field(default_factory=_now)
    updated_at: datetime = field(default_factory=_now)


@dataclass(slots=True)
class StateUpdate:
    """A streaming update of a task."""

    session_id: str
    task_id: str
    update_type: str
    content: Any
    trace_id: str | None = None
    update_id: str = field(default_factory=_new_id)
    step_index: int | None = None
    total_steps: int | None = None
    created_at: datetime = field(default_factory=_now)


@dataclass(slots=True)
class SteeringEvent:
    """An intervention in a task."""

    session_id: str
    task_id: str
    event_type: str
    event_id: str = field(default_factory=_new_id)
    payload: Mapping[str, Any] = field(default_factory=dict)
    trace_id: str | None = None
    source: str = "user"
    created_at: datetime = field(default_factory=_now)


@dataclass(slots=True)
class PlannerEvent:
    """A structured event of the planner."""

    event_type: str
    ts: float
    trajectory_step: int
    thought: str | None = None
    node_name: str | None = None
    latency_ms: float | None = None
    token_estimate: int | None = None
    error: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)


class Trajectory(dict[str, Any]):
    """A planner's trajectory in its serialised form. Its members are also attributes."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(name) from None

    def serialise(self) -> dict[str, Any]:
        """Returns the trajectory as plain JSON."""
        return dict(self)


@dataclass(slots=True)
class ArtifactScope:
    """The scope of an artifact. Parts that are `None` are not set."""

    tenant_id: str | None = None
    user_id: str | None = None
    session_id: str | None = None
    trace_id: str | None = None


@dataclass(slots=True)
class ArtifactRef:
    """A reference to stored bytes."""

    id: str
    mime_type: str | None = None
    size_bytes: int | None = None
    filename: str | None = None
    sha256: str | None = None
    scope: ArtifactScope | None = None
    namespace: str | None = None
    source: Mapping[str, Any] = field(default_factory=dict)
