/** A checkpointer that stores the state of LangGraph threads in kv records. */
import { hash } from 'node:crypto';
import type { RunnableConfig } from '@langchain/core/runnables';
import {
  BaseCheckpointSaver,
  type ChannelVersions,
  type Checkpoint,
  type CheckpointListOptions,
  type CheckpointMetadata,
  type CheckpointTuple,
  copyCheckpoint,
  type PendingWrite,
  type SerializerProtocol,
} from '@langchain/langgraph-checkpoint';
import { type KvStore, type Store, textOf } from '@tidemark/core';
import { type Frame, LruMap, sameJson } from '@tidemark/core/adapters';
import { BlobCache } from './blob-cache.ts';
import { type BlobRecord, type Blobs, encodeLargeBlob, missingBlob, type RecordFields } from './blobs.ts';
import { BODY_FIELD, type ChannelRef, type CheckpointRecord, encodeCheckpoint } from './checkpoint-record.ts';
import { branchOf, checkpointIdOf, configOf, namespaceOf, threadOf } from './config.ts';
import { type Encoding, encodingOf } from './encoding.ts';
import { claimHead, conflict, FENCED_FIELD, readFenced } from './fence.ts';
import {
  newestFirst,
  readCheckpoint,
  readHistory,
  readNamespaces,
  readThreads,
  type StoredCheckpoint,
} from './history.ts';
import { type Branch, branchPrefix, CHECKPOINTS, checkpointKey, writesKey } from './keys.ts';
import { indexOfWrite, type StoredWrite, storeWrites } from './pending-writes.ts';
import { type Pruned, type PruneOptions, pruneThread } from './prune.ts';
import { refuse } from './refuse.ts';
import { Serialiser } from './serialising.ts';
import { sharedRefsOf } from './stored-values.ts';
import { deleteThread } from './sweep.ts';
import { TupleReader } from './tuples.ts';
import { ValueWriter } from './value-writer.ts';

/** Options of `TidemarkSaver`. */
export interface TidemarkSaverOptions {
  /** Whether to compress values of 1 KiB and more. Default: false. */
  compress?: boolean;
  /**
   * Whether only one process at a time can continue a thread. Storing a checkpoint then fails with `CONFLICT` if another
   * process has stored one since the parent was read, and threads cannot branch. Every process must use the option.
   * Default: false.
   */
  fence?: boolean;
  /** Serialises checkpoints and values. Default: LangGraph's own serialiser. */
  serde?: SerializerProtocol;
}

/** Pending writes above this size become blobs, because a field of every engine has room for this size only. */
const INLINE_WRITE_BYTES = 128 * 1024;
/** A checkpoint to which later ones may refer. */
interface KnownCheckpoint {
  channels: ReadonlyMap<string, ChannelRef>;
  digest: string;
}

const REMEMBERED_CHECKPOINTS = 1_000;
/** Below the limits of a batch. */
const BATCH_RECORDS = 20;
const BATCH_BYTES = 512 * 1024;

/**
 * Stores LangGraph checkpoints in a Tidemark store on any engine.
 *
 * A checkpoint stores the channels that its step changed, and shares all other channels with earlier checkpoints.
 * Checkpoints are added by id, so a thread can branch at any of them. Pending writes are stored once: the first write
 * of a task and index is kept. If the store encrypts, checkpoints, values and writes are sealed.
 *
 * @example
 * const store = await open('sqlite:agent.db');
 * const checkpointer = new TidemarkSaver(store);
 * const graph = builder.compile({ checkpointer });
 */
export class TidemarkSaver extends BaseCheckpointSaver {
  readonly #kv: KvStore;
  readonly #serialiser: Serialiser;
  readonly #tuples: TupleReader;
  readonly #encoding: Encoding;
  readonly #isFenced: boolean;
  readonly #canBatch: boolean;
  readonly #values = new BlobCache();
  /** Checkpoints that this process has stored or read. Their digests show whether they were stored again since. */
  readonly #checkpoints = new LruMap<string, KnownCheckpoint>(REMEMBERED_CHECKPOINTS);

  /** @throws `INVALID_ARGUMENT` if the first argument is not a store. */
  constructor(store: Store, options: TidemarkSaverOptions = {}) {
    super(options.serde);
    if (typeof store?.kv?.swap !== 'function') throw refuse('store', 'must be an open Tidemark store');
    this.#kv = store.kv;
    this.#serialiser = new Serialiser(this, options.serde !== undefined);
    this.#tuples = new TupleReader(store.kv, this.#serialiser);
    this.#encoding = encodingOf(store, options.compress);
    this.#isFenced = options.fence ?? false;
    // On PostgreSQL, a batch takes more round trips than two writes that share statements with other callers.
    this.#canBatch = store.info.capabilities['kv.atomicBatch'] && store.info.backend === 'sqlite';
  }

  /**
   * Returns the checkpoint that a configuration names, or the latest of its thread. Returns `undefined` if there is
   * none.
   */
  override async getTuple(config: RunnableConfig): Promise<CheckpointTuple | undefined> {
    if (threadOf(config) === undefined) return undefined;
    const branch = branchOf(config);
    const id = checkpointIdOf(config);
    const isLatestOfFenced = this.#isFenced && id === undefined;
    const stored = await (isLatestOfFenced ? readFenced(this.#kv, branch) : readCheckpoint(this.#kv, branch, id));
    if (stored === null) return undefined;
    const known = this.#values.find(branch, sharedRefsOf(stored));
    const read = await this.#tuples.read(stored, known);
    if (read.tuple !== null) {
      this.#remember(stored, known, read.values);
      return read.tuple;
    }
    // The values of a checkpoint are missing if the checkpoint is being deleted, or if it is damaged. Reading it again
    // shows which.
    const again = await readCheckpoint(this.#kv, branch, stored.record.id);
    if (again === null) return undefined;
    const second = await this.#tuples.read(again);
    if (second.tuple === null) throw missingBlob(branch, again.record.id, second.missing);
    return second.tuple;
  }

  /**
   * Yields checkpoints, newest first within a thread. Without `thread_id`, yields one thread after the other, in key
   * order. The checkpoint `before` itself is not included. `filter` compares members of the metadata, and `limit` is
   * the maximum number of results.
   */
  override async *list(config: RunnableConfig, options: CheckpointListOptions = {}): AsyncGenerator<CheckpointTuple> {
    const { limit, filter } = options;
    const range = { before: checkpointIdOf(options.before), only: checkpointIdOf(config) };
    let left = limit ?? Number.POSITIVE_INFINITY;
    const thread = threadOf(config);
    for await (const each of thread === undefined ? readThreads(this.#kv) : [thread]) {
      let known: Blobs = new Map();
      for await (const stored of newestFirst(await this.#historiesOf(each, namespaceOf(config), range))) {
        if (left <= 0) return;
        if (filter && !(await this.#matches(stored.record.metadata, filter))) continue;
        // Consecutive checkpoints share most of their values and blobs, so those of the previous checkpoint are passed on.
        const read = await this.#tuples.read(stored, known);
        if (read.tuple === null) continue;
        known = new Map([...read.values, ...read.blobs]);
        left -= 1;
        yield read.tuple;
      }
    }
  }

  /**
   * Stores a checkpoint and returns its configuration. Its parent is the checkpoint named by `config`.
   *
   * @throws `INVALID_ARGUMENT` without a thread. `CONFLICT` with `fence`, if the parent is not the latest checkpoint.
   */
  override async put(
    config: RunnableConfig,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
  ): Promise<RunnableConfig> {
    const branch = branchOf(config);
    const parentId = checkpointIdOf(config) ?? null;
    const parent = parentId === null ? undefined : await this.#known(branch, parentId);
    if (this.#isFenced) await claimHead(this.#kv, branch, parentId, checkpoint.id);
    const isShared = await this.#store(branch, parentId, checkpoint, metadata, newVersions, parent?.channels);
    // The parent may have been pruned, or stored again with other blobs, after its channels were read and before this
    // checkpoint was stored. If it is still the same, its blobs are safe, because pruning reads the checkpoints again
    // before it deletes blobs.
    if (isShared && !(await this.#isUnchanged(branch, parentId!, parent!))) {
      this.#checkpoints.delete(memoryKey(branch, parentId!));
      await this.#store(branch, parentId, checkpoint, metadata, newVersions, undefined);
    }
    return configOf(branch, checkpoint.id);
  }

  /**
   * Stores a task's writes for a checkpoint. Skips a write whose index is already stored; writes of errors, interrupts
   * and resumes replace earlier ones.
   *
   * @throws `INVALID_ARGUMENT` without a thread or a checkpoint id.
   */
  override async putWrites(config: RunnableConfig, writes: PendingWrite[], taskId: string): Promise<void> {
    const branch = branchOf(config);
    const id = checkpointIdOf(config);
    if (id === undefined) throw refuse('configurable.checkpoint_id', 'is required to store writes');
    const records: BlobRecord[] = [];
    const stored: StoredWrite[] = [];
    for (const [position, [channel, value]] of writes.entries()) {
      const index = indexOfWrite(channel, position);
      const frame = await this.#serialiser.dump(value);
      const isLarge = frame.bytes.length > INLINE_WRITE_BYTES;
      // The blob of a write that is kept and that of one that is skipped have different names.
      const blob = isLarge ? encodeLargeBlob(branch, id, `w ${taskId} ${index}`, frame, this.#encoding) : null;
      if (blob) records.push(...blob.records);
      const inline = isLarge ? { type: frame.type, bytes: new Uint8Array() } : frame;
      stored.push({ task: taskId, index, channel, value: inline, blob: blob?.ref ?? null });
    }
    await this.#putBlobs(records);
    await storeWrites(this.#kv, writesKey(branch, id, taskId), stored, this.#encoding);
  }

  /** Deletes all checkpoints, values and pending writes of a thread and its subgraphs. The thread may be used again. */
  override async deleteThread(threadId: string): Promise<void> {
    await deleteThread(this.#kv, branchOf({ configurable: { thread_id: threadId } }).thread);
  }

  /**
   * Deletes old checkpoints of a thread, or of all threads, and the values that no remaining checkpoint needs.
   *
   * Keeps the newest `keep` checkpoints of a graph (at least 1) and all checkpoints younger than `olderThan`. Also
   * keeps earlier checkpoints from which a kept checkpoint rebuilds its delta channels. Checkpoints of subgraphs are
   * deleted with the step to which they belong.
   *
   * @example
   * await checkpointer.prune({ threadId: 'chat-7', keep: 10 });
   * await checkpointer.prune({ keep: 1, olderThan: '30d' });
   */
  async prune(options: PruneOptions & { threadId?: string } = {}): Promise<Pruned> {
    const { threadId, ...rest } = options;
    const total: Pruned = { checkpoints: 0, blobs: 0 };
    for await (const thread of threadId === undefined ? readThreads(this.#kv) : [threadId]) {
      const { checkpoints, blobs } = await pruneThread(this.#kv, thread, rest, (frame) => this.#serialiser.load(frame));
      total.checkpoints += checkpoints;
      total.blobs += blobs;
    }
    return total;
  }

  async #store(
    branch: Branch,
    parentId: string | null,
    checkpoint: Checkpoint,
    metadata: CheckpointMetadata,
    newVersions: ChannelVersions,
    inherited: ReadonlyMap<string, ChannelRef> | undefined,
  ): Promise<boolean> {
    const { channel_values: values, ...rest } = copyCheckpoint(checkpoint);
    const channels = new Map<string, ChannelRef>();
    const writer = new ValueWriter(this.#kv, branch, checkpoint.id, this.#encoding, this.#values);
    for (const [name, value] of Object.entries(values)) {
      // The first checkpoint of a thread has only the channels listed as changed.
      if (value === undefined || (parentId === null && !(name in newVersions))) continue;
      const version = rest.channel_versions[name] ?? null;
      const before = inherited?.get(name);
      const isSame = before !== undefined && version !== null && before.version === version && !(name in newVersions);
      if (isSame && typeof before.value !== 'number') {
        channels.set(name, { version, value: writer.keep(before.value) });
      } else {
        channels.set(name, {
          version,
          value: await writer.add(name, await this.#serialiser.dump(value), before?.value),
        });
      }
    }
    const record = {
      branch,
      id: checkpoint.id,
      parentId,
      storedAt: Date.now(),
      channels,
      checkpoint: await this.#serialiser.dump(rest),
      metadata: await this.#serialiser.dump(metadata),
      values: writer.frames,
    };
    const fields = Object.assign(writer.fields, encodeCheckpoint(record, this.#encoding));
    if (!(await this.#putTogether(branch, record, fields, writer.records))) {
      await this.#putBlobs(writer.records);
      await this.#putCheckpoint(branch, record, fields);
    }
    this.#checkpoints.set(memoryKey(branch, checkpoint.id), { channels, digest: digestOf(fields) });
    return writer.isShared;
  }

  /** Stores a checkpoint and its large blobs in one step, if they fit into one. Returns whether they do. */
  async #putTogether(
    branch: Branch,
    { id, parentId }: CheckpointRecord,
    fields: Record<string, Uint8Array>,
    blobs: readonly BlobRecord[],
  ): Promise<boolean> {
    const bytes = [{ fields }, ...blobs].reduce((sum, it) => sum + sizeOf(it.fields), 0);
    if (!this.#canBatch || blobs.length === 0 || blobs.length >= BATCH_RECORDS || bytes > BATCH_BYTES) return false;
    const { sealed } = this.#encoding;
    const expected = this.#isFenced ? { expected: { [FENCED_FIELD]: null } } : {};
    const result = await this.#kv.batch([
      ...blobs.map((blob) => ({ op: 'put' as const, ...blob, sealed })),
      { op: 'setFields', key: checkpointKey(branch, id), fields, sealed, ...expected },
    ]);
    if (!result.written) throw conflict(branch, parentId, textOf(result.unmet.record?.fields[FENCED_FIELD]));
    return true;
  }

  /** Keeps the blobs of a checkpoint that had the same id: other checkpoints may need them. */
  async #putCheckpoint(
    branch: Branch,
    { id, parentId }: CheckpointRecord,
    fields: Record<string, Uint8Array>,
  ): Promise<void> {
    const { sealed } = this.#encoding;
    if (!this.#isFenced) {
      await this.#kv.setFields(checkpointKey(branch, id), fields, { sealed });
      return;
    }
    const change = { expected: { [FENCED_FIELD]: null }, set: fields, sealed };
    const { swapped, record } = await this.#kv.swap(checkpointKey(branch, id), change);
    if (!swapped) throw conflict(branch, parentId, textOf(record?.fields[FENCED_FIELD]));
  }

  async #putBlobs(blobs: readonly BlobRecord[]): Promise<void> {
    await Promise.all(blobs.map(({ key, fields }) => this.#kv.put(key, fields, { sealed: this.#encoding.sealed })));
  }

  /** Remembers what later calls need of a checkpoint that was read. */
  #remember({ record, fields }: StoredCheckpoint, known: Blobs, values: Blobs): void {
    const key = memoryKey(record.branch, record.id);
    this.#checkpoints.set(key, { channels: record.channels, digest: digestOf(fields) });
    for (const [id, frame] of values) if (!known.has(id)) this.#values.set(record.branch, id, frame);
  }

  async #known(branch: Branch, id: string): Promise<KnownCheckpoint | undefined> {
    const known = this.#checkpoints.get(memoryKey(branch, id));
    if (known !== undefined) return known;
    const stored = await readCheckpoint(this.#kv, branch, id);
    if (stored === null) return undefined;
    const read = { channels: stored.record.channels, digest: digestOf(stored.fields) };
    this.#checkpoints.set(memoryKey(branch, id), read);
    return read;
  }

  async #isUnchanged(branch: Branch, id: string, { digest }: KnownCheckpoint): Promise<boolean> {
    const body = await this.#kv.getField(checkpointKey(branch, id), BODY_FIELD);
    return body !== null && digestOf({ [BODY_FIELD]: body }) === digest;
  }

  async #historiesOf(
    thread: string,
    namespace: string | undefined,
    range: { before?: string | undefined; only?: string | undefined },
  ): Promise<AsyncGenerator<StoredCheckpoint>[]> {
    const branches =
      namespace === undefined ? await Array.fromAsync(readNamespaces(this.#kv, thread)) : [{ thread, namespace }];
    const { before, only } = range;
    return branches.map((branch) =>
      readHistory(this.#kv, branch, { ...(before !== undefined && { before }), ...(only !== undefined && { only }) }),
    );
  }

  async #matches(metadata: Frame, filter: Record<string, unknown>): Promise<boolean> {
    const actual = (await this.#serialiser.load(metadata)) as Record<string, unknown>;
    return Object.entries(filter).every(([name, value]) => sameJson(actual[name], value));
  }
}

/** Returns a digest of the part of a checkpoint's record that names its blobs. */
function digestOf(fields: RecordFields): string {
  return hash('sha1', fields[BODY_FIELD]!, 'base64');
}

function memoryKey(branch: Branch, id: string): string {
  return `${branchPrefix(CHECKPOINTS, branch)}${id}`;
}

function sizeOf(fields: Record<string, Uint8Array | string | number>): number {
  return Object.values(fields).reduce<number>((sum, value) => sum + (typeof value === 'number' ? 16 : value.length), 0);
}
