"""Copies threads."""

from __future__ import annotations

import dataclasses

from ..kv import Kv
from ..state_store import StoreInfo
from .history import read_namespaces
from .layout import BLOBS, CHECKPOINTS, Branch, decode_checkpoint, encode_checkpoint, is_blob_field


async def copy_thread(kv: Kv, source: str, target: str, info: StoreInfo) -> None:
    """Copies every branch: blobs first, and then checkpoints, oldest first, so that none lacks its parent."""
    for branch in await read_namespaces(kv, source):
        copy = Branch(target, branch.namespace)
        for root in (BLOBS, CHECKPOINTS):
            start, new_start = branch.prefix(root), copy.prefix(root)
            async for key, record in kv.scan(start):
                fields = _copied(record.fields, copy, info) if key.endswith(".c") and root == CHECKPOINTS else record.fields
                if fields:
                    await kv.put(new_start + key[len(start) :], fields, sealed=info.encrypts)


def _copied(fields: dict[str, bytes], branch: Branch, info: StoreInfo) -> dict[str, bytes]:
    """Returns a checkpoint of another branch with its blobs. Without the checkpoint, only the blobs."""
    blobs = {name: value for name, value in fields.items() if is_blob_field(name)}
    record = decode_checkpoint(fields)
    if record is None:
        return blobs
    return {**blobs, **encode_checkpoint(dataclasses.replace(record, branch=branch), info.field_bytes)}
