"""Turns stored checkpoints into the tuples that LangGraph reads."""

from __future__ import annotations

from typing import Any

from langgraph.checkpoint.base import CheckpointTuple, SerializerProtocol

from ..kv import Kv
from .configs import config_of
from .history import StoredCheckpoint, read_blobs
from .values import Blobs, BlobRef, Frame, SharedRef, blob_id, blobs_of, value_id, value_in


class TupleReader:
    """Reads the values of checkpoints, and remembers the values and blobs of the previous checkpoint."""

    def __init__(self, kv: Kv, serde: SerializerProtocol, known: Blobs | None = None) -> None:
        """`known` has values and blobs that need not be read."""
        self._kv = kv
        self._serde = serde
        self._blobs: Blobs = known or {}
        self.values: dict[str, Frame] = {}
        """The values of the last checkpoint that are outside its record, by `value_id`."""
        self.missing = ""
        """The name of the value because of which `read` returned `None`."""

    async def read(self, stored: StoredCheckpoint) -> CheckpointTuple | None:
        """Returns the tuple, or `None` if a value is missing."""
        record = stored.record
        if not await self._read_values(stored):
            return None
        checkpoint = self._load(record.checkpoint)
        checkpoint["channel_values"] = {
            name: self._load(record.values[value] if isinstance(value, int) else self.values[value_id(value)])
            for name, (_, value) in record.channels.items()
        }
        writes = [
            (it.task, it.channel, self._load(it.value if it.blob is None else self.values[value_id(it.blob)]))
            for it in stored.writes
        ]
        parent = None if record.parent_id is None else config_of(record.branch, record.parent_id)
        config = config_of(record.branch, record.id)
        return CheckpointTuple(config, checkpoint, self._load(record.metadata), parent, writes)

    async def _read_values(self, stored: StoredCheckpoint) -> bool:
        """Reads the values that are not known, and returns whether all exist."""
        self.values = {}
        blobs: dict[str, Frame] = {}
        open_refs: list[tuple[str, SharedRef]] = []
        unread: list[BlobRef] = []
        for name, ref in stored.shared_refs():
            if (value := self._blobs.get(value_id(ref))) is not None:
                self.values[value_id(ref)] = value
                continue
            open_refs.append((name, ref))
            for blob in blobs_of(ref):
                if (frame := self._blobs.get(blob_id(blob))) is None:
                    unread.append(blob)
                else:
                    blobs[blob_id(blob)] = frame
        if unread:
            record = stored.record
            own = {record.id: stored.fields}
            blobs |= await read_blobs(self._kv, record.branch, unread, own.get)
        for name, ref in open_refs:
            if (value := value_in(ref, blobs)) is None:
                self.missing = name
                return False
            self.values[value_id(ref)] = value
        self._blobs = {**blobs, **self.values}
        return True

    def _load(self, frame: Frame) -> Any:
        return self._serde.loads_typed((frame.type, frame.bytes))
