"""Deletes checkpoints, and blobs that no checkpoint refers to. Checkpoints are deleted first. Then the remaining ones
are read again, so that a concurrent writer never loses a value."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any

from ..kv import Kv
from .fence import read_head
from .history import StoredCheckpoint, read_history, read_namespaces
from .layout import BLOBS, CHECKPOINTS, HEADS, STORED_AT_FIELD, Branch, key_segment

_LEFT_OVER_AFTER_MS = 10 * 60_000
"""A blob without a checkpoint counts as a leftover only after this time, because its checkpoint may still be stored."""

Metadata = Mapping[str, Any]
Load = Callable[[StoredCheckpoint], Metadata]


async def keep_latest(kv: Kv, thread: str, load: Load) -> None:
    """Deletes all checkpoints but the newest of each branch and those from which it rebuilds its delta channels."""
    for branch in await read_namespaces(kv, thread):
        chain = [(stored, load(stored)) async for stored in read_history(kv, branch)]
        if not chain:
            continue
        head, _ = await read_head(kv, branch)
        kept = {*_kept(chain), *([] if head is None else [head])}
        newest = chain[0][0].record.id
        await delete_checkpoints(kv, branch, lambda it, newest=newest, kept=kept: (
            it.record.id <= newest and it.record.id not in kept
        ))


async def delete_thread(kv: Kv, thread: str) -> None:
    """Deletes a thread. If another process stores a checkpoint at the same time, its values are kept."""
    for branch in await read_namespaces(kv, thread):
        await delete_checkpoints(kv, branch, lambda _: True)
    # Deletes writes whose checkpoint was never stored, and the heads of fenced threads.
    for root in (CHECKPOINTS, HEADS):
        await kv.delete_prefix(f"{root}{key_segment(thread)}.")


async def delete_checkpoints(kv: Kv, branch: Branch, is_doomed: Callable[[StoredCheckpoint], bool]) -> None:
    """Deletes some checkpoints with their writes, and blobs that no other checkpoint refers to."""
    candidates: set[str] = set()
    is_any_deleted = False
    async for stored in read_history(kv, branch):
        if not is_doomed(stored):
            continue
        is_any_deleted = True
        candidates.update(_blob_keys(stored))
        await kv.delete_prefix(branch.checkpoint_prefix(CHECKPOINTS, stored.record.id))
    if not is_any_deleted:
        return
    used = {key async for stored in read_history(kv, branch) for key in _blob_keys(stored)}
    left_over_before = time.time() * 1000 - _LEFT_OVER_AFTER_MS
    async for key in kv.scan_keys(branch.prefix(BLOBS)):
        if key in used:
            continue
        if key in candidates or await _stored_at(kv, key) < left_over_before:
            await kv.delete(key)


def _kept(chain: list[tuple[StoredCheckpoint, Metadata]]) -> set[str]:
    by_id = {stored.record.id: (stored, metadata) for stored, metadata in chain}
    newest, metadata = chain[0]
    kept = {newest.record.id}
    delta_channels = metadata.get("counters_since_delta_snapshot") or {}
    open_channels = {name for name in delta_channels if name not in newest.record.channels}
    parent_id = newest.record.parent_id
    while open_channels and parent_id in by_id:
        ancestor = by_id[parent_id][0].record
        kept.add(ancestor.id)
        open_channels -= set(ancestor.channels)
        parent_id = ancestor.parent_id
    return kept


def _blob_keys(stored: StoredCheckpoint) -> Iterator[str]:
    branch = stored.record.branch
    for _, value in stored.record.channels.values():
        if not isinstance(value, int):
            yield from branch.part_keys(value)
    for write in stored.writes:
        if write.blob is not None:
            yield from branch.part_keys(write.blob)


async def _stored_at(kv: Kv, key: str) -> float:
    value = await kv.get_field(key, STORED_AT_FIELD)
    return 0.0 if value is None else float(value)
