"""Turns stored checkpoints into the tuples that LangGraph reads."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import CheckpointTuple, SerializerProtocol

from ..kv import Kv
from .configs import config_of
from .history import StoredCheckpoint, read_blobs
from .layout import BlobRef, Frame


class TupleReader:
    """Reads the values of checkpoints, and remembers the values of the previous checkpoint."""

    def __init__(self, kv: Kv, serde: SerializerProtocol) -> None:
        self._kv = kv
        self._serde = serde
        self._blobs: dict[BlobRef, Frame] = {}
        self.missing = ""
        """The name of the value because of which `read` returned `None`."""

    async def read(self, stored: StoredCheckpoint) -> CheckpointTuple | None:
        """Returns the tuple, or `None` if a value is missing."""
        record = stored.record
        named = {name: value for name, (_, value) in record.channels.items() if not isinstance(value, int)}
        named |= {f"write {at}": it.blob for at, it in enumerate(stored.writes) if it.blob is not None}
        known = {ref: self._blobs[ref] for ref in named.values() if ref in self._blobs}
        unread = [ref for ref in named.values() if ref not in known]
        self._blobs = {**known, **(await read_blobs(self._kv, record.branch, unread) if unread else {})}
        for name, ref in named.items():
            if ref not in self._blobs:
                self.missing = name
                return None
        checkpoint = self._load(record.checkpoint)
        checkpoint["channel_values"] = {
            name: self._load(record.values[value] if isinstance(value, int) else self._blobs[value])
            for name, (_, value) in record.channels.items()
        }
        writes = [
            (it.task, it.channel, self._load(it.value if it.blob is None else self._blobs[it.blob]))
            for it in stored.writes
        ]
        parent = None if record.parent_id is None else config_of(record.branch, record.parent_id)
        config = config_of(record.branch, record.id)
        return CheckpointTuple(config, checkpoint, self._load(record.metadata), parent, writes)

    def _load(self, frame: Frame) -> Any:
        return self._serde.loads_typed((frame.type, frame.bytes))
