"""Writes large values and pending writes."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence

from ..errors import TidemarkError
from ..kv import Kv
from ..state_store import StoreInfo
from .layout import (
    BLOB_FIELD,
    PART_BYTES,
    STORED_AT_FIELD,
    BlobRef,
    Branch,
    Frame,
    StoredWrite,
    cut,
    encode_write,
    pack,
    write_field,
)

_MAX_TRIES = 100
"""An attempt fails only if another writer of the same task has stored an index."""


async def put_blob(kv: Kv, branch: Branch, id: str, name: str, frame: Frame, info: StoreInfo) -> BlobRef:
    """Stores a large value in one or more records, and returns the reference to it."""
    packed = pack([frame])
    pieces = [packed[at : at + PART_BYTES] for at in range(0, len(packed), PART_BYTES)]
    ref = (id, name, len(pieces))
    now = int(time.time() * 1000)
    await asyncio.gather(*(
        kv.put(key, {STORED_AT_FIELD: now, **cut(BLOB_FIELD, piece, info.field_bytes)}, sealed=info.encrypts)
        for key, piece in zip(branch.part_keys(ref), pieces, strict=True)
    ))
    return ref


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
