"""The classes that reads return: PenguiFlow's own if it is installed, otherwise the same shapes from `models`."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from functools import cache
from importlib import import_module
from typing import Any

from . import models

_HOMES = {
    models.StoredEvent: "penguiflow.state",
    models.RemoteBinding: "penguiflow.state",
    models.TaskState: "penguiflow.state",
    models.StateUpdate: "penguiflow.state",
    models.SteeringEvent: "penguiflow.state",
    models.PlannerEvent: "penguiflow.planner",
    models.Trajectory: "penguiflow.planner",
    models.ArtifactScope: "penguiflow.artifacts",
    models.ArtifactRef: "penguiflow.artifacts",
}


def build(kind: type, fields: Mapping[str, Any]) -> Any:
    """Creates an object of a class of `models`, or of PenguiFlow's class of the same name."""
    native = _class_of(kind)
    if kind is models.RemoteBinding:
        return native(**{name: value for name, value in fields.items() if name in _names_of(native)})
    if kind is models.TaskState and native is not kind:
        return native(**{**fields, **_task_parts(fields)})
    return native(**fields)


def build_trajectory(serialised: Mapping[str, Any]) -> Any:
    """Creates a trajectory. Data that PenguiFlow did not write is returned unchanged."""
    native = _class_of(models.Trajectory)
    if native is models.Trajectory or "query" not in serialised:
        return models.Trajectory(serialised)
    return native.from_serialised(serialised)


@cache
def _class_of(kind: type) -> Any:
    """Imported on first use, so that programs without PenguiFlow need not load it."""
    try:
        return getattr(import_module(_HOMES[kind]), kind.__name__)
    except (ImportError, AttributeError):
        # Not installed, or a version without this class.
        return kind


@cache
def _names_of(native: type) -> frozenset[str]:
    """Versions of PenguiFlow before 3 have bindings of four members."""
    return frozenset(it.name for it in dataclasses.fields(native))


def _task_parts(fields: Mapping[str, Any]) -> dict[str, Any]:
    state = import_module(_HOMES[models.TaskState])
    return {
        "status": state.TaskStatus(fields["status"]),
        "task_type": state.TaskType(fields["task_type"]),
        "context_snapshot": state.TaskContextSnapshot.model_validate(fields["context_snapshot"]),
    }
