"""Writes channel values, large values and pending writes."""

from __future__ import annotations

import asyncio
import time
from collections import OrderedDict
from collections.abc import Mapping, Sequence

from ..errors import TidemarkError
from ..kv import Kv
from ..state_store import StoreInfo
from .history import read_blobs
from .layout import (
    BLOB_FIELD,
    BLOBS,
    PART_BYTES,
    SMALL_BLOB,
    SMALL_BLOB_BYTES,
    STORED_AT_FIELD,
    Branch,
    StoredWrite,
    cut,
    encode_write,
    pack,
    write_field,
)
from .sharing import parts_of_next
from .values import BlobRef, Frame, Piece, PiecedValue, SharedRef, ValueRef, blobs_of, random_name, value_id, value_in

_MAX_TRIES = 100
"""An attempt fails only if another writer of the same task has stored an index."""
_INLINE_BYTES = 1024
"""Larger channel values become blobs."""
_MAX_CACHED = 16 * 1024 * 1024
_MAX_CACHED_VALUE = 4 * 1024 * 1024
"""A larger value would replace too many others."""


class ValueCache:
    """The values that a process has stored or read last. A value never changes, so the cache is never out of date."""

    def __init__(self) -> None:
        self._frames: OrderedDict[str, Frame] = OrderedDict()
        self._size = 0

    def set(self, branch: Branch, id: str, frame: Frame) -> None:
        """Adds a value under its `value_id`."""
        if len(frame.bytes) > _MAX_CACHED_VALUE:
            return
        self.remove(branch, id)
        self._frames[_cache_key(branch, id)] = frame
        self._size += len(frame.bytes)
        while self._size > _MAX_CACHED:
            _, oldest = self._frames.popitem(last=False)
            self._size -= len(oldest.bytes)

    def get(self, branch: Branch, id: str) -> Frame | None:
        """Returns a value by its `value_id`."""
        key = _cache_key(branch, id)
        frame = self._frames.get(key)
        if frame is not None:
            self._frames.move_to_end(key)
        return frame

    def remove(self, branch: Branch, id: str) -> None:
        """Removes a value."""
        frame = self._frames.pop(_cache_key(branch, id), None)
        self._size -= 0 if frame is None else len(frame.bytes)


def _cache_key(branch: Branch, id: str) -> str:
    return f"{branch.prefix(BLOBS)}{id}"


class ValueWriter:
    """Stores the channel values of one checkpoint: small ones in its record, others in blobs that later checkpoints
    share."""

    def __init__(self, kv: Kv, branch: Branch, checkpoint_id: str, info: StoreInfo, cache: ValueCache) -> None:
        self._kv = kv
        self._branch = branch
        self._checkpoint_id = checkpoint_id
        self._info = info
        self._cache = cache
        self.frames: list[Frame] = []
        """The small values."""
        self.fields: dict[str, bytes] = {}
        """Blobs to store in the record of the checkpoint."""
        self.records: dict[str, dict[str, bytes | int]] = {}
        """Blobs to store before the checkpoint."""
        self.is_shared = False
        """Whether a value needs blobs of earlier checkpoints."""

    def keep(self, before: SharedRef) -> SharedRef:
        """Adds a value that an earlier checkpoint has stored."""
        self.is_shared = True
        return before

    async def add(self, channel: str, frame: Frame, before: ValueRef | None) -> ValueRef:
        """Adds a value and returns where it is stored. `before` is where the parent has the value of the channel."""
        if len(frame.bytes) <= _INLINE_BYTES:
            self.frames.append(frame)
            return len(self.frames) - 1
        ref: SharedRef | None = None
        if before is not None and not isinstance(before, int):
            ref = await self._share(channel, frame, before)
            # The next version will be compared with this one.
            self._cache.remove(self._branch, value_id(before))
        if ref is None:
            ref = self._add_blob(channel, frame)
        self._cache.set(self._branch, value_id(ref), frame)
        return ref

    async def _share(self, channel: str, frame: Frame, before: SharedRef) -> SharedRef | None:
        """Stores the parts of a value that its earlier version does not have. Returns `None` if the versions have
        little in common."""
        old = self._cache.get(self._branch, value_id(before))
        if old is None:
            old = value_in(before, await read_blobs(self._kv, self._branch, blobs_of(before)))
        parts = None if old is None else parts_of_next(before, old.bytes, frame.bytes)
        if parts is None:
            return None
        fresh = b"".join(frame.bytes[it.at : it.at + it.length] for it in parts if it.piece is None)
        blob = self._add_blob(channel, Frame(frame.type, fresh)) if fresh else None
        pieces: list[Piece] = []
        start = 0
        for part in parts:
            if part.piece is not None:
                pieces.append(part.piece)
            elif blob is not None:
                pieces.append(Piece(blob, start, part.length))
                start += part.length
        self.is_shared = True
        return PiecedValue(random_name(), frame.type, tuple(pieces))

    def _add_blob(self, channel: str, frame: Frame) -> BlobRef:
        packed = pack([frame])
        if len(packed) <= SMALL_BLOB_BYTES:
            name = f"{SMALL_BLOB}{random_name()}"
            self.fields |= cut(name, packed, self._info.field_bytes)
            return BlobRef(self._checkpoint_id, name, 0, len(frame.bytes))
        ref, records = large_blob(self._branch, self._checkpoint_id, f"c {channel}", frame, self._info)
        self.records |= records
        return ref


def large_blob(
    branch: Branch, id: str, label: str, frame: Frame, info: StoreInfo
) -> tuple[BlobRef, dict[str, dict[str, bytes | int]]]:
    """Returns a reference to a blob in separate records, and these records by their keys."""
    packed = pack([frame])
    parts = [packed[at : at + PART_BYTES] for at in range(0, len(packed), PART_BYTES)]
    ref = BlobRef(id, f"{label} {random_name()}", len(parts), len(frame.bytes))
    now = int(time.time() * 1000)
    fields = ({STORED_AT_FIELD: now, **cut(BLOB_FIELD, part, info.field_bytes)} for part in parts)
    return ref, dict(zip(branch.blob_keys(ref), fields, strict=True))


async def put_records(kv: Kv, records: Mapping[str, Mapping[str, bytes | int]], info: StoreInfo) -> None:
    """Stores the records of large blobs."""
    await asyncio.gather(*(kv.put(key, fields, sealed=info.encrypts) for key, fields in records.items()))


async def put_writes(kv: Kv, key: str, writes: Sequence[StoredWrite], info: StoreInfo) -> None:
    """Stores the writes of a task. Skips those whose index is stored, unless they are errors, interrupts or resumes."""
    replacing = [it for it in writes if it.index < 0]
    adding = [it for it in writes if it.index >= 0]
    for _ in range(_MAX_TRIES):
        fields: dict[str, bytes] = {}
        for write in (*replacing, *adding):
            fields |= encode_write(write, info.field_bytes)
        if not fields:
            return
        expected = {write_field(it.index): None for it in adding}
        result = await kv.swap(key, set=fields, expected=expected or None, sealed=info.encrypts)
        if result.swapped:
            return
        stored = {} if result.record is None else result.record.fields
        adding = [it for it in adding if write_field(it.index) not in stored]
    raise TidemarkError("CONFLICT", f"Other writers changed the writes of {key} {_MAX_TRIES} times; try again")
