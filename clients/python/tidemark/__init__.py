"""A client for Tidemark servers: state store and artifact store for PenguiFlow, runs, and records."""

from .artifacts import ArtifactStore
from .errors import InvalidValueError, TidemarkError, Write
from .kv import BatchResult, Delete, Kv, Put, Record, SetFields, UnmetCondition
from .models import (
    ArtifactRef,
    ArtifactScope,
    PlannerEvent,
    RemoteBinding,
    StateUpdate,
    SteeringEvent,
    StoredEvent,
    TaskState,
    Trajectory,
)
from .runs import AppendResult, Runs
from .state_store import MemoryInfo, StateStore

__all__ = [
    "AppendResult",
    "ArtifactRef",
    "ArtifactScope",
    "ArtifactStore",
    "BatchResult",
    "Delete",
    "InvalidValueError",
    "Kv",
    "MemoryInfo",
    "PlannerEvent",
    "Put",
    "Record",
    "RemoteBinding",
    "Runs",
    "SetFields",
    "StateStore",
    "StateUpdate",
    "SteeringEvent",
    "StoredEvent",
    "TaskState",
    "TidemarkError",
    "Trajectory",
    "UnmetCondition",
    "Write",
]
