"""Copies threads."""

from __future__ import annotations

import dataclasses

from ..kv import Kv
from ..state_store import StoreInfo
from .history import StoredCheckpoint, read_checkpoint, read_history, read_namespaces
from .layout import BLOBS, Branch, encode_checkpoint, encode_write


async def copy_thread(kv: Kv, source: str, target: str, info: StoreInfo) -> None:
    """Copies every branch, oldest checkpoints first, so that no copied checkpoint lacks its parent."""
    for branch in await read_namespaces(kv, source):
        copy = Branch(target, branch.namespace)
        ids = [stored.record.id async for stored in read_history(kv, branch)]
        start, new_start = branch.prefix(BLOBS), copy.prefix(BLOBS)
        async for key, record in kv.scan(start):
            await kv.put(new_start + key[len(start) :], record.fields, sealed=info.encrypts)
        for id in reversed(ids):
            stored = await read_checkpoint(kv, branch, id)
            if stored is not None:
                await _put_copy(kv, stored, copy, info)


async def _put_copy(kv: Kv, stored: StoredCheckpoint, branch: Branch, info: StoreInfo) -> None:
    record = dataclasses.replace(stored.record, branch=branch)
    by_task: dict[str, dict[str, bytes]] = {}
    for write in stored.writes:
        by_task.setdefault(write.task, {}).update(encode_write(write, info.field_bytes))
    for task, fields in by_task.items():
        await kv.put(branch.writes_key(record.id, task), fields, sealed=info.encrypts)
    await kv.put(branch.checkpoint_key(record.id), encode_checkpoint(record, info.field_bytes), sealed=info.encrypts)
