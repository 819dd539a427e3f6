"""Delta channels: channels whose value is rebuilt from the writes since their last stored value."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from langgraph.checkpoint.base import SerializerProtocol

from ..kv import Kv
from .history import StoredCheckpoint, missing_value, read_blobs, read_checkpoint, read_history
from .layout import Branch, StoredWrite
from .values import Frame, SharedRef, blobs_of, value_in


async def delta_channel_history(
    kv: Kv, serde: SerializerProtocol, branch: Branch, id: str | None, channels: Sequence[str]
) -> Mapping[str, Any]:
    """Follows the parents of a checkpoint until each channel has a stored value. Its own writes are not included."""
    writes: dict[str, list[tuple[str, str, Any]]] = {name: [] for name in channels}
    seeds: dict[str, Any] = {}
    target = await read_checkpoint(kv, branch, id) if channels else None
    if target is not None:
        async for ancestor in _ancestors(kv, branch, target):
            open_channels = {name for name in channels if name not in seeds}
            if not open_channels:
                break
            for write in reversed(ancestor.writes):
                if write.channel in open_channels:
                    value = await _value_of_write(kv, branch, ancestor, write)
                    writes[write.channel].append((write.task, write.channel, serde.loads_typed(value)))
            for name in open_channels & set(ancestor.record.channels):
                seeds[name] = serde.loads_typed(await _value_of_channel(kv, branch, ancestor, name))
    return {
        name: {"writes": writes[name][::-1], **({"seed": seeds[name]} if name in seeds else {})} for name in channels
    }


async def _ancestors(kv: Kv, branch: Branch, target: StoredCheckpoint) -> AsyncIterator[StoredCheckpoint]:
    """Yields the parent, its parent and so on. They are almost always found by one scan, because parents are older."""
    wanted = target.record.parent_id
    if wanted is None:
        return
    async for stored in read_history(kv, branch, before=target.record.id):
        if stored.record.id == wanted:
            yield stored
            wanted = stored.record.parent_id
        if wanted is None:
            return
    while wanted is not None:
        found = await read_checkpoint(kv, branch, wanted)
        if found is None:
            return
        yield found
        wanted = found.record.parent_id


async def _value_of_write(kv: Kv, branch: Branch, stored: StoredCheckpoint, write: StoredWrite) -> tuple[str, bytes]:
    if write.blob is None:
        return _typed(write.value)
    return await _shared_value(kv, branch, stored, write.channel, write.blob)


async def _value_of_channel(kv: Kv, branch: Branch, stored: StoredCheckpoint, name: str) -> tuple[str, bytes]:
    _, ref = stored.record.channels[name]
    if isinstance(ref, int):
        return _typed(stored.record.values[ref])
    return await _shared_value(kv, branch, stored, name, ref)


async def _shared_value(
    kv: Kv, branch: Branch, stored: StoredCheckpoint, name: str, ref: SharedRef
) -> tuple[str, bytes]:
    frame = value_in(ref, await read_blobs(kv, branch, blobs_of(ref)))
    if frame is None:
        raise missing_value(branch, stored.record.id, name)
    return _typed(frame)


def _typed(frame: Frame) -> tuple[str, bytes]:
    return (frame.type, frame.bytes)
