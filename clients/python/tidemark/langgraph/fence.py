"""The fence of threads that only one process at a time may continue. `packages/langgraph/src/fence.ts` describes it."""

from __future__ import annotations

from ..errors import TidemarkError
from ..kv import Kv
from .history import StoredCheckpoint, read_checkpoint
from .layout import BODY_FIELD, FENCED_FIELD, Branch

_MAX_TRIES = 100
"""An attempt fails only if another writer has moved the head."""
_HEAD = "id"
_PARENT = "parent"


async def claim_head(kv: Kv, branch: Branch, parent_id: str | None, id: str) -> None:
    """Makes a checkpoint the head of its branch. Fails with `CONFLICT` if the head is not the parent."""
    for _ in range(_MAX_TRIES):
        head, parent_of_head = await read_head(kv, branch)
        if head == id:
            return
        if head is None:
            # A thread that was started without a fence has no head.
            latest = await read_checkpoint(kv, branch)
            latest_id = None if latest is None else latest.record.id
            if latest_id != parent_id:
                raise conflict(branch, parent_id, latest_id)
        elif head != parent_id:
            # The writer of the head may have died before it stored its checkpoint.
            if parent_of_head != parent_id or not await _fence_off(kv, branch, head, id):
                raise conflict(branch, parent_id, head)
        change = {_HEAD: id, _PARENT: parent_id}
        if (await kv.swap(branch.head_key(), expected={_HEAD: head}, set=change)).swapped:
            return
    raise conflict(branch, parent_id, None)


async def read_fenced(kv: Kv, branch: Branch) -> StoredCheckpoint | None:
    """Returns the latest checkpoint of a fenced branch, which is not always the one with the highest id."""
    head, parent_of_head = await read_head(kv, branch)
    if head is None:
        return await read_checkpoint(kv, branch)
    stored = await read_checkpoint(kv, branch, head)
    if stored is not None or parent_of_head is None:
        return stored
    return await read_checkpoint(kv, branch, parent_of_head)


async def read_head(kv: Kv, branch: Branch) -> tuple[str | None, str | None]:
    """Returns the head of a branch and its parent."""
    record = await kv.get(branch.head_key())
    return (None, None) if record is None else (record.text(_HEAD), record.text(_PARENT))


async def _fence_off(kv: Kv, branch: Branch, id: str, by: str) -> bool:
    """Prevents a checkpoint from being stored. Returns false if it is stored already."""
    key = branch.checkpoint_key(id)
    change = await kv.swap(key, expected={BODY_FIELD: None}, set={FENCED_FIELD: by})
    return change.swapped


def conflict(branch: Branch, parent_id: str | None, head: str | None) -> TidemarkError:
    """Returns the error for a checkpoint whose parent is not the head."""
    rule = "only one process at a time may continue a fenced thread"
    message = (
        f"Thread {branch.thread!r} is at checkpoint {head!r} and not at {parent_id!r}: {rule}. Read the state again."
    )
    return TidemarkError("CONFLICT", message, rule=rule, current=head)
