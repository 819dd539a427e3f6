"""A checkpointer that stores the state of LangGraph threads in records of a Tidemark server."""

from __future__ import annotations

import hashlib
import time
from collections import OrderedDict
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from langchain_core.runnables import RunnableConfig
from langgraph.checkpoint.base import (
    WRITES_IDX_MAP,
    BaseCheckpointSaver,
    ChannelVersions,
    Checkpoint,
    CheckpointMetadata,
    CheckpointTuple,
    SerializerProtocol,
    get_checkpoint_metadata,
)

from ..errors import invalid_argument
from ..state_store import StateStore, StoreInfo
from .background import Background
from .configs import branch_of, checkpoint_id_of, config_of, namespace_of
from .copying import copy_thread
from .delta import delta_channel_history
from .fence import claim_head, conflict, read_fenced
from .history import StoredCheckpoint, missing_value, read_checkpoint, read_history, read_namespaces, read_threads
from .layout import (
    BODY_FIELD,
    CHECKPOINTS,
    FENCED_FIELD,
    Branch,
    CheckpointRecord,
    StoredWrite,
    Version,
    encode_checkpoint,
)
from .pruning import delete_checkpoints, delete_thread, keep_latest
from .tuples import TupleReader
from .values import BlobRef, Frame, ValueRef, value_id
from .writing import ValueCache, ValueWriter, large_blob, put_records, put_writes

_INLINE_WRITE_BYTES = 128 * 1024
_REMEMBERED_CHECKPOINTS = 1_000

Channels = Mapping[str, tuple[Version, ValueRef]]


class KnownCheckpoint(NamedTuple):
    """A checkpoint that later calls refer to. The digest shows whether it was stored again since."""

    channels: Channels
    digest: bytes


class TidemarkSaver(BaseCheckpointSaver[int]):
    """Stores LangGraph checkpoints on a Tidemark server. All methods exist in a synchronous and an asynchronous form.

    A checkpoint stores the channels that its step changed, and shares the others with earlier checkpoints. The first
    write of a task and index is kept. If the server's store encrypts, checkpoints and writes are sealed.

    With `fence=True`, only one process at a time can continue a thread: storing a checkpoint fails with `CONFLICT` if
    another process has stored one since the parent was read. Such threads cannot branch.

    Example::

        with TidemarkSaver("http://127.0.0.1:7420") as checkpointer:
            graph = builder.compile(checkpointer=checkpointer)
    """

    def __init__(
        self,
        store: StateStore | str,
        *,
        serde: SerializerProtocol | None = None,
        fence: bool = False,
    ) -> None:
        """`store` is an open store, or the URL of a server. A store that you pass is not closed with the saver."""
        super().__init__(serde=serde)
        self._is_own_store = isinstance(store, str)
        self._store = StateStore(store) if isinstance(store, str) else store
        self._kv = self._store.kv
        self._fence = fence
        self._background = Background()
        self._info: StoreInfo | None = None
        self._checkpoints: OrderedDict[str, KnownCheckpoint] = OrderedDict()
        self._values = ValueCache()

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Returns the checkpoint that a configuration names, or the latest of its thread."""
        branch = branch_of(config)
        id = checkpoint_id_of(config)
        is_latest_of_fenced = self._fence and id is None
        stored = await (read_fenced(self._kv, branch) if is_latest_of_fenced else read_checkpoint(self._kv, branch, id))
        if stored is None:
            return None
        ids = [value_id(ref) for _, ref in stored.shared_refs()]
        known = {id: frame for id in ids if (frame := self._values.get(branch, id)) is not None}
        reader = TupleReader(self._kv, self.serde, known)
        found = await reader.read(stored)
        if found is not None:
            self._remember(branch, stored.record.id, stored.record.channels, stored.fields)
            for value, frame in reader.values.items():
                self._values.set(branch, value, frame)
            return found
        reader = TupleReader(self._kv, self.serde)
        # Values are missing if the checkpoint is being deleted, or if it is damaged. Reading it again shows which.
        again = await read_checkpoint(self._kv, branch, stored.record.id)
        if again is None:
            return None
        found = await reader.read(again)
        if found is None:
            raise missing_value(branch, again.record.id, reader.missing)
        return found

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """Yields checkpoints, newest first within a namespace. `before` itself is not included."""
        left = float("inf") if limit is None else limit
        only, before_id = checkpoint_id_of(config), checkpoint_id_of(before)
        async for branch in self._branches(config):
            # Consecutive checkpoints share most of their values, so one reader remembers the values of the previous
            # checkpoint.
            reader = TupleReader(self._kv, self.serde)
            async for stored in read_history(self._kv, branch, before=before_id, only=only):
                if left <= 0:
                    return
                metadata = self._load(stored.record.metadata)
                if filter and any(metadata.get(name) != value for name, value in filter.items()):
                    continue
                found = await reader.read(stored)
                if found is not None:
                    left -= 1
                    yield found

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Stores a checkpoint and returns its configuration. Its parent is the checkpoint that `config` names."""
        branch = branch_of(config)
        parent_id = checkpoint_id_of(config)
        whole = get_checkpoint_metadata(config, metadata)
        parent = None if parent_id is None else await self._known(branch, parent_id)
        if self._fence:
            await claim_head(self._kv, branch, parent_id, checkpoint["id"])
        is_shared = await self._put(branch, parent_id, checkpoint, whole, new_versions, parent and parent.channels)
        # The parent may have been deleted, or stored again with other blobs, after its channels were read. If it is
        # still the same, its blobs are safe, because pruning reads the checkpoints again before it deletes blobs.
        if is_shared and parent_id and parent and not await self._is_unchanged(branch, parent_id, parent):
            self._checkpoints.pop(_memory_key(branch, parent_id), None)
            await self._put(branch, parent_id, checkpoint, whole, new_versions, None)
        return config_of(branch, checkpoint["id"])

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Stores the writes of a task. A write whose index is stored is skipped; errors, interrupts and resumes replace
        earlier ones."""
        branch = branch_of(config)
        id = checkpoint_id_of(config)
        if id is None:
            raise invalid_argument("configurable.checkpoint_id", "given")
        info = await self._info_of_store()
        stored: list[StoredWrite] = []
        for position, (channel, value) in enumerate(writes):
            index = WRITES_IDX_MAP.get(channel, position)
            frame = self._dump(value)
            blob: BlobRef | None = None
            if len(frame.bytes) > _INLINE_WRITE_BYTES:
                # The blob of a write that is kept and that of one that is skipped have different names.
                blob, records = large_blob(branch, id, f"w {task_id} {index}", frame, info)
                await put_records(self._kv, records, info)
                frame = Frame(frame.type, b"")
            stored.append(StoredWrite(task_id, index, channel, frame, blob, task_path))
        await put_writes(self._kv, branch.writes_key(id, task_id), stored, info)

    async def adelete_thread(self, thread_id: str) -> None:
        """Deletes a thread and its subgraphs. The thread may be used again."""
        await delete_thread(self._kv, str(thread_id))

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Deletes the checkpoints of some runs. Reads the checkpoints of all threads."""
        runs = set(run_ids)
        if not runs:
            return
        async for branch in self._branches(None):
            await delete_checkpoints(self._kv, branch, lambda it: self._load(it.record.metadata).get("run_id") in runs)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copies all checkpoints and writes of a thread to another one."""
        info = await self._info_of_store()
        await copy_thread(self._kv, str(source_thread_id), str(target_thread_id), info)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Deletes old checkpoints (`keep_latest`) or everything (`delete`) of some threads.

        `keep_latest` also keeps the checkpoints from which the latest one rebuilds its delta channels.
        """
        if strategy not in ("keep_latest", "delete"):
            raise invalid_argument("strategy", 'one of "keep_latest" and "delete"')
        for thread in map(str, thread_ids):
            if strategy == "delete":
                await delete_thread(self._kv, thread)
            else:
                await keep_latest(self._kv, thread, lambda it: self._load(it.record.metadata))

    async def aget_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, Any]:
        """Returns the writes and the last stored value from which each delta channel is rebuilt."""
        branch = branch_of(config)
        return await delta_channel_history(self._kv, self.serde, branch, checkpoint_id_of(config), channels)

    async def aclose(self) -> None:
        """Closes the store if the saver opened it."""
        if self._is_own_store:
            await self._store.close()

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """Like `aget_tuple`."""
        return self._background.run(self.aget_tuple(config))

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """Like `alist`."""
        return self._background.iterate(self.alist(config, filter=filter, before=before, limit=limit))

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Like `aput`."""
        return self._background.run(self.aput(config, checkpoint, metadata, new_versions))

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Like `aput_writes`."""
        self._background.run(self.aput_writes(config, writes, task_id, task_path))

    def delete_thread(self, thread_id: str) -> None:
        """Like `adelete_thread`."""
        self._background.run(self.adelete_thread(thread_id))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Like `adelete_for_runs`."""
        self._background.run(self.adelete_for_runs(run_ids))

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Like `acopy_thread`."""
        self._background.run(self.acopy_thread(source_thread_id, target_thread_id))

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Like `aprune`."""
        self._background.run(self.aprune(thread_ids, strategy=strategy))

    def get_delta_channel_history(self, *, config: RunnableConfig, channels: Sequence[str]) -> Mapping[str, Any]:
        """Like `aget_delta_channel_history`."""
        return self._background.run(self.aget_delta_channel_history(config=config, channels=channels))

    def close(self) -> None:
        """Ends the thread of the synchronous methods, and closes the store if the saver opened it."""
        self._background.run(self.aclose())
        self._background.stop()

    def __enter__(self) -> TidemarkSaver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    async def __aenter__(self) -> TidemarkSaver:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
        self._background.stop()

    async def _put(
        self,
        branch: Branch,
        parent_id: str | None,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
        inherited: Channels | None,
    ) -> bool:
        """Stores a checkpoint, and returns whether it refers to blobs of its parent."""
        info = await self._info_of_store()
        rest = {name: value for name, value in checkpoint.items() if name != "channel_values"}
        channels: dict[str, tuple[Version, ValueRef]] = {}
        writer = ValueWriter(self._kv, branch, checkpoint["id"], info, self._values)
        for name, value in checkpoint["channel_values"].items():
            # The first checkpoint of a thread has only the channels that are listed as changed.
            if parent_id is None and name not in new_versions:
                continue
            version = checkpoint["channel_versions"].get(name)
            before_version, before = (inherited or {}).get(name, (None, None))
            is_same = version is not None and before_version == version and name not in new_versions
            if is_same and before is not None and not isinstance(before, int):
                channels[name] = (version, writer.keep(before))
            else:
                channels[name] = (version, await writer.add(name, self._dump(value), before))
        await put_records(self._kv, writer.records, info)
        now = int(time.time() * 1000)
        frames = (self._dump(rest), self._dump(metadata), writer.frames)
        record = CheckpointRecord(branch, checkpoint["id"], parent_id, now, channels, *frames)
        fields = {**encode_checkpoint(record, info.field_bytes), **writer.fields}
        key = branch.checkpoint_key(checkpoint["id"])
        if not self._fence:
            # Keeps the blobs of a checkpoint that had the same id: other checkpoints may need them.
            await self._kv.set_fields(key, fields, sealed=info.encrypts)
        else:
            stored = await self._kv.swap(key, expected={FENCED_FIELD: None}, set=fields, sealed=info.encrypts)
            if not stored.swapped:
                raise conflict(branch, parent_id, stored.record and stored.record.text(FENCED_FIELD))
        self._remember(branch, checkpoint["id"], channels, fields)
        return writer.is_shared

    async def _branches(self, config: RunnableConfig | None) -> AsyncIterator[Branch]:
        namespace = None if config is None else namespace_of(config)
        if config is not None and namespace is not None:
            yield branch_of(config)
            return
        threads = [branch_of(config).thread] if config is not None else [it async for it in read_threads(self._kv)]
        for thread in threads:
            for branch in await read_namespaces(self._kv, thread):
                yield branch

    async def _known(self, branch: Branch, id: str) -> KnownCheckpoint | None:
        known = self._checkpoints.get(_memory_key(branch, id))
        if known is not None:
            return known
        stored: StoredCheckpoint | None = await read_checkpoint(self._kv, branch, id)
        return None if stored is None else self._remember(branch, id, stored.record.channels, stored.fields)

    def _remember(self, branch: Branch, id: str, channels: Channels, fields: Mapping[str, bytes]) -> KnownCheckpoint:
        known = KnownCheckpoint(channels, _digest_of(fields[BODY_FIELD]))
        self._checkpoints[_memory_key(branch, id)] = known
        self._checkpoints.move_to_end(_memory_key(branch, id))
        if len(self._checkpoints) > _REMEMBERED_CHECKPOINTS:
            self._checkpoints.popitem(last=False)
        return known

    async def _is_unchanged(self, branch: Branch, id: str, known: KnownCheckpoint) -> bool:
        body = await self._kv.get_field(branch.checkpoint_key(id), BODY_FIELD)
        return body is not None and _digest_of(body) == known.digest

    async def _info_of_store(self) -> StoreInfo:
        if self._info is None:
            self._info = await self._store.info()
        return self._info

    def _dump(self, value: Any) -> Frame:
        return Frame(*self.serde.dumps_typed(value))

    def _load(self, frame: Frame) -> Any:
        return self.serde.loads_typed((frame.type, frame.bytes))


def _digest_of(body: bytes) -> bytes:
    """Returns a digest of the part of a checkpoint's record that names its blobs."""
    return hashlib.blake2b(body, digest_size=16).digest()


def _memory_key(branch: Branch, id: str) -> str:
    return f"{branch.prefix(CHECKPOINTS)}{id}"
