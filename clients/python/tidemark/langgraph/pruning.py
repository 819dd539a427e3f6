"""Deletes checkpoints, and the blobs that no other checkpoint needs, in an order that never lets a concurrent writer lose a value. `packages/langgraph/src/sweep.ts` describes it."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from ..kv import Kv
from .fence import read_head
from .history import Fields, StoredCheckpoint, read_history, read_namespaces
from .layout import (
    BLOBS,
    BODY_FIELD,
    CHECKPOINTS,
    HEADS,
    STORED_AT_FIELD,
    Branch,
    decode_checkpoint,
    decode_writes,
    is_blob_field,
    key_segment,
    record_keys,
    segment_text,
    small_blob_id,
)
from .values import BlobRef, blob_id, blobs_of

_LEFT_OVER_AFTER_MS = 10 * 60_000
"""A large blob without a checkpoint counts as a leftover only after this time, because its checkpoint may still be
stored."""

Metadata = Mapping[str, Any]
Load = Callable[[StoredCheckpoint], Metadata]


@dataclass(slots=True)
class _Needs:
    """The blobs that the checkpoints of a branch need, by `blob_id`, and the records that contain only small blobs."""

    blobs: dict[str, BlobRef] = field(default_factory=dict)
    without_checkpoint: dict[str, Fields] = field(default_factory=dict)

    def need(self, refs: Iterable[BlobRef]) -> None:
        self.blobs.update({blob_id(ref): ref for ref in refs})


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
    """Deletes a thread. A checkpoint that another process stores at the same time is deleted too, or remains with its
    values."""
    for branch in await read_namespaces(kv, thread):
        await delete_checkpoints(kv, branch, lambda _: True)
    await _delete_left_overs(kv, f"{CHECKPOINTS}{key_segment(thread)}.")
    await kv.delete_prefix(f"{HEADS}{key_segment(thread)}.")


async def delete_checkpoints(kv: Kv, branch: Branch, is_doomed: Callable[[StoredCheckpoint], bool]) -> None:
    """Deletes some checkpoints with their writes, and blobs that no other checkpoint needs."""
    candidates: set[str] = set()
    async for stored in read_history(kv, branch):
        if is_doomed(stored):
            candidates.update(key for ref in stored.blob_refs() for key in branch.blob_keys(ref))
            await _delete_checkpoint(kv, stored)
    needs = await _needs_of(kv, branch)
    await _delete_small_blobs(kv, needs)
    await _delete_large_blobs(kv, branch, needs, candidates)


async def _delete_checkpoint(kv: Kv, stored: StoredCheckpoint) -> None:
    """Deletes a checkpoint and its pending writes. Its small blobs remain."""
    branch, id = stored.record.branch, stored.record.id
    if not any(map(is_blob_field, stored.fields)):
        await kv.delete_prefix(branch.checkpoint_prefix(CHECKPOINTS, id))
        return
    await kv.set_fields(branch.checkpoint_key(id), {name: None for name in stored.fields if not is_blob_field(name)})
    await kv.delete_prefix(branch.writes_prefix(id))


async def _needs_of(kv: Kv, branch: Branch) -> _Needs:
    """Reads all checkpoints of a branch. Oldest first: if a checkpoint is deleted during the scan, its children
    are read after it."""
    needs = _Needs()
    prefix = branch.prefix(CHECKPOINTS)
    checkpoint_of_writes = ""
    async for key, record in kv.scan(prefix):
        checkpoint, _, rest = key[len(prefix) :].partition(".")
        if rest != "c":
            # Writes are sorted after their checkpoint. Those of a missing checkpoint do not count.
            if checkpoint == checkpoint_of_writes:
                needs.need(it.blob for it in decode_writes(record.fields) if it.blob is not None)
            continue
        stored = decode_checkpoint(record.fields)
        if stored is None:
            if any(map(is_blob_field, record.fields)):
                needs.without_checkpoint[key] = record.fields
            continue
        checkpoint_of_writes = checkpoint
        for _, value in stored.channels.values():
            if not isinstance(value, int):
                needs.need(blobs_of(value))
    return needs


async def _delete_small_blobs(kv: Kv, needs: _Needs) -> None:
    """Deletes small blobs of deleted checkpoints."""
    for key, fields in needs.without_checkpoint.items():
        id = segment_text(key.split(".")[-2]) or ""
        unused = [it for it in fields if is_blob_field(it) and small_blob_id(id, it) not in needs.blobs]
        if unused:
            await _delete_fields(kv, key, unused)


async def _delete_large_blobs(kv: Kv, branch: Branch, needs: _Needs, candidates: set[str]) -> None:
    used = {key for ref in needs.blobs.values() for key in branch.blob_keys(ref)}
    left_over_before = time.time() * 1000 - _LEFT_OVER_AFTER_MS
    async for key in kv.scan_keys(branch.prefix(BLOBS)):
        if key in used:
            continue
        if key in candidates or await _stored_at(kv, key) < left_over_before:
            await kv.delete(key)


async def _delete_left_overs(kv: Kv, prefix: str) -> None:
    """Deletes pending writes whose checkpoint is missing with their blobs, and the other records of namespaces that
    have no checkpoint any more."""
    left_overs: dict[str, dict[str, Fields]] = {}
    with_checkpoints: set[str] = set()
    checkpoint_of_writes = ""
    async for key, record in kv.scan(prefix):
        namespace, checkpoint, rest = key[len(prefix) :].split(".", 2)
        if rest != "c":
            if f"{namespace}.{checkpoint}" != checkpoint_of_writes:
                await kv.delete(key)
                blobs = f"{BLOBS}{prefix.removeprefix(CHECKPOINTS)}{namespace}."
                for write in decode_writes(record.fields):
                    for blob_key in [] if write.blob is None else record_keys(blobs, write.blob):
                        await kv.delete(blob_key)
        elif BODY_FIELD in record.fields:
            with_checkpoints.add(namespace)
            checkpoint_of_writes = f"{namespace}.{checkpoint}"
        else:
            left_overs.setdefault(namespace, {})[key] = record.fields
    for namespace, records in left_overs.items():
        if namespace not in with_checkpoints:
            for key, fields in records.items():
                await _delete_fields(kv, key, fields)


async def _delete_fields(kv: Kv, key: str, names: Iterable[str]) -> None:
    """Deletes fields of a record, unless it is a checkpoint now."""
    await kv.swap(key, expected={BODY_FIELD: None}, set=dict.fromkeys(names))


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


async def _stored_at(kv: Kv, key: str) -> float:
    value = await kv.get_field(key, STORED_AT_FIELD)
    return 0.0 if value is None else float(value)
