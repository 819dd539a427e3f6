"""Reads stored checkpoints with their pending writes, newest first, and their values."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterable, Mapping
from dataclasses import dataclass

from ..errors import TidemarkError
from ..kv import Kv
from ..records import Record
from .layout import (
    BLOB_FIELD,
    CHECKPOINTS,
    Branch,
    CheckpointRecord,
    StoredWrite,
    checkpoint_segment,
    damaged,
    decode_checkpoint,
    decode_writes,
    end_of_prefix,
    join,
    key_segment,
    segment_text,
    unpack,
)
from .values import BlobRef, Blobs, Frame, SharedRef, blob_id, blobs_of

_FIRST_PAGE = 4
"""Enough for the newest checkpoint and the writes of a few tasks."""
_PAGE = 50
_KEYS_PER_READ = 4
"""The number of parts of large values that one request reads."""
_SMALL_KEYS_PER_READ = 100

Fields = Mapping[str, bytes]
"""The fields of a record."""


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A checkpoint with the writes that tasks have added to it."""

    record: CheckpointRecord
    writes: list[StoredWrite]
    fields: Fields
    """The fields of the record, some of which are blobs."""

    def shared_refs(self) -> Iterable[tuple[str, SharedRef]]:
        """Yields the values that are outside the record, with the names of their channels."""
        for name, (_, value) in self.record.channels.items():
            if not isinstance(value, int):
                yield name, value
        for write in self.writes:
            if write.blob is not None:
                yield write.channel, write.blob

    def blob_refs(self) -> Iterable[BlobRef]:
        """Yields the blobs that the checkpoint and its pending writes need."""
        for _, ref in self.shared_refs():
            yield from blobs_of(ref)


async def read_checkpoint(kv: Kv, branch: Branch, id: str | None = None) -> StoredCheckpoint | None:
    """Returns a checkpoint, or the latest of the branch."""
    async for stored in read_history(kv, branch, only=id, first_page=_PAGE if id else _FIRST_PAGE):
        return stored
    return None


async def read_history(
    kv: Kv, branch: Branch, *, before: str | None = None, only: str | None = None, first_page: int = _PAGE
) -> AsyncIterator[StoredCheckpoint]:
    """Yields the checkpoints of a branch, newest first, without the checkpoint `before` itself."""
    all_of_branch = branch.prefix(CHECKPOINTS)
    prefix = all_of_branch if only is None else branch.checkpoint_prefix(CHECKPOINTS, only)
    end = None if before is None else f"{all_of_branch}{checkpoint_segment(before)}."
    writes: list[StoredWrite] = []
    writes_of = ""
    async for key, record in _reversed(kv, prefix, end, first_page):
        checkpoint, _, rest = key[len(all_of_branch) :].partition(".")
        # Writes can be stored before their checkpoint. Writes of other checkpoints are dropped.
        if checkpoint != writes_of:
            writes = []
        writes_of = checkpoint
        if rest != "c":
            writes = [*decode_writes(record.fields), *writes]
            continue
        stored = decode_checkpoint(record.fields)
        if stored is not None:
            yield StoredCheckpoint(stored, writes, record.fields)


async def read_namespaces(kv: Kv, thread: str) -> list[Branch]:
    """Returns the branches of a thread that have checkpoints."""
    branches: list[Branch] = []
    async for segment, key in _segments(kv, f"{CHECKPOINTS}{key_segment(thread)}."):
        namespace = segment_text(segment)
        branch = Branch(thread, namespace) if namespace is not None else await _branch_at(kv, key)
        if branch is not None:
            branches.append(branch)
    return branches


async def read_threads(kv: Kv) -> AsyncIterator[str]:
    """Yields the threads that have checkpoints."""
    async for segment, key in _segments(kv, CHECKPOINTS):
        thread = segment_text(segment)
        if thread is None:
            branch = await _branch_at(kv, key)
            thread = None if branch is None else branch.thread
        if thread is not None:
            yield thread


async def read_blobs(
    kv: Kv,
    branch: Branch,
    refs: Iterable[BlobRef],
    fields_of: Callable[[str], Fields | None] = lambda _: None,
) -> dict[str, Frame]:
    """Reads blobs. The result has no entry for a missing blob. `fields_of` returns the fields of checkpoints that were
    read before."""
    wanted = {blob_id(ref): ref for ref in refs}
    records: dict[str, Fields] = {}
    missing: dict[str, None] = {}
    for ref in wanted.values():
        known = fields_of(ref.checkpoint_id) if ref.records == 0 else None
        if known is not None:
            records[branch.checkpoint_key(ref.checkpoint_id)] = known
        else:
            missing.update(dict.fromkeys(branch.blob_keys(ref)))
    keys = list(missing)
    step = _KEYS_PER_READ if len(keys) > len(wanted) else _SMALL_KEYS_PER_READ
    groups = [keys[at : at + step] for at in range(0, len(keys), step)]
    for group, answer in zip(groups, await asyncio.gather(*(kv.get_many(it) for it in groups)), strict=True):
        records.update({key: record.fields for key, record in zip(group, answer, strict=True) if record is not None})
    frames = {id: _frame_in(records, branch, ref) for id, ref in wanted.items()}
    return {id: frame for id, frame in frames.items() if frame is not None}


def _frame_in(records: Mapping[str, Fields], branch: Branch, ref: BlobRef) -> Frame | None:
    field = ref.name if ref.records == 0 else BLOB_FIELD
    parts = [join(field, records.get(key, {})) for key in branch.blob_keys(ref)]
    whole = [part for part in parts if part is not None]
    return unpack(b"".join(whole))[0] if len(whole) == len(parts) else None


def missing_value(branch: Branch, id: str, name: str) -> TidemarkError:
    """Returns the error for a checkpoint one of whose values is missing."""
    return damaged(f"the value of {name!r} of checkpoint {id!r} of thread {branch.thread!r} is missing")


async def _reversed(kv: Kv, prefix: str, end: str | None, first_page: int) -> AsyncIterator[tuple[str, Record]]:
    cursor: str | None = None
    limit = first_page
    while True:
        page = await kv.scan_page(prefix, limit=limit, cursor=cursor, end=end, reverse=True)
        # Otherwise an older checkpoint would be taken for the latest.
        if page.damaged:
            raise damaged(f"the record {page.damaged[0]!r} cannot be read")
        for item in page.items:
            yield item
        if page.next is None:
            return
        cursor, limit = page.next, _PAGE


async def _segments(kv: Kv, prefix: str) -> AsyncIterator[tuple[str, str]]:
    """Yields each distinct next segment of the keys under a prefix, with the first key that has it."""
    start = prefix
    while True:
        async for key in kv.scan_keys(prefix, start=start, max_results=1):
            segment = key[len(prefix) :].split(".", 1)[0]
            yield segment, key
            start = end_of_prefix(f"{prefix}{segment}.")
            break
        else:
            return


async def _branch_at(kv: Kv, key: str) -> Branch | None:
    """Returns the branch of the first checkpoint at or after a key whose names are hashed."""
    thread, namespace = key[len(CHECKPOINTS) :].split(".")[:2]
    async for _, record in kv.scan(f"{CHECKPOINTS}{thread}.{namespace}.", start=key):
        stored = decode_checkpoint(record.fields)
        if stored is not None:
            return stored.branch
    return None
