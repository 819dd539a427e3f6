"""Reads stored checkpoints with their pending writes, newest first, and their values."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from dataclasses import dataclass

from ..errors import TidemarkError
from ..kv import Kv
from ..records import Record
from .layout import (
    BLOB_FIELD,
    CHECKPOINTS,
    BlobRef,
    Branch,
    CheckpointRecord,
    Frame,
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

_FIRST_PAGE = 4
"""Enough for the newest checkpoint and the writes of a few tasks."""
_PAGE = 50
_KEYS_PER_READ = 4
"""The number of parts of large values that one request reads."""
_SMALL_KEYS_PER_READ = 100

Blobs = Mapping[BlobRef, Frame]


@dataclass(frozen=True, slots=True)
class StoredCheckpoint:
    """A checkpoint with the writes that tasks have added to it."""

    record: CheckpointRecord
    writes: list[StoredWrite]


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
            yield StoredCheckpoint(stored, writes)


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


async def read_blobs(kv: Kv, branch: Branch, refs: Iterable[BlobRef]) -> Blobs:
    """Reads blobs. The result has no entry for a missing blob."""
    wanted = list(dict.fromkeys(refs))
    keys = [key for ref in wanted for key in branch.part_keys(ref)]
    step = _KEYS_PER_READ if len(keys) > len(wanted) else _SMALL_KEYS_PER_READ
    groups = [keys[at : at + step] for at in range(0, len(keys), step)]
    answers = await asyncio.gather(*(kv.get_many(group) for group in groups))
    parts: dict[str, bytes] = {}
    for group, records in zip(groups, answers, strict=True):
        for key, record in zip(group, records, strict=True):
            part = None if record is None else join(BLOB_FIELD, record.fields)
            if part is not None:
                parts[key] = part
    found: dict[BlobRef, Frame] = {}
    for ref in wanted:
        of_ref = [parts.get(key) for key in branch.part_keys(ref)]
        if all(part is not None for part in of_ref):
            found[ref] = unpack(b"".join(part or b"" for part in of_ref))[0]
    return found


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
