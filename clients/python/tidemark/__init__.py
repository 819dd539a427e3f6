"""A client for Tidemark servers: state store and artifact store for PenguiFlow, runs, and records."""

from .artifacts import ArtifactStore
from .errors import InvalidValueError, TidemarkError, Write
from .kv import Kv
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
from .records import BatchResult, Delete, Put, Record, ScanPage, SetFields, SwapResult, UnmetCondition
from .runs import AppendResult, Runs
from .state_store import MemoryInfo, StateStore, StoreInfo

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
    "ScanPage",
    "SetFields",
    "StateStore",
    "StateUpdate",
    "SteeringEvent",
    "StoreInfo",
    "StoredEvent",
    "SwapResult",
    "TaskState",
    "TidemarkError",
    "Trajectory",
    "UnmetCondition",
    "Write",
]
