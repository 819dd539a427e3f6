/** Turns stored checkpoints into the tuples that LangGraph reads. */
import {
  type Checkpoint,
  type CheckpointMetadata,
  type CheckpointPendingWrite,
  type CheckpointTuple,
  maxChannelVersion,
  TASKS,
} from '@langchain/langgraph-checkpoint';
import type { KvStore } from '@tidemark/core';
import type { Frame } from '@tidemark/core/adapters';
import { type Blobs, missingBlob, readBlobs } from './blobs.ts';
import { configOf } from './config.ts';
import { readCheckpoint, type StoredCheckpoint } from './history.ts';
import type { Branch } from './keys.ts';
import type { Serialiser } from './serialising.ts';
import { readValues } from './stored-values.ts';
import { blobId, valueId } from './value-refs.ts';

/** A tuple with its values and the blobs that were read for them, or the name of a missing value. */
export type TupleRead = { tuple: CheckpointTuple; values: Blobs; blobs: Blobs } | { tuple: null; missing: string };

/** Property attributes with which a channel named `__proto__` becomes an ordinary member. */
const OWN = { writable: true, enumerable: true, configurable: true } as const;

export class TupleReader {
  readonly #kv: KvStore;
  readonly #serialiser: Serialiser;

  constructor(kv: KvStore, serialiser: Serialiser) {
    this.#kv = kv;
    this.#serialiser = serialiser;
  }

  /** Reads the values of a checkpoint, except those in `known`. */
  async read(stored: StoredCheckpoint, known: Blobs = new Map()): Promise<TupleRead> {
    const { values, blobs, missing } = await readValues(this.#kv, stored, known);
    if (missing !== null) return { tuple: null, missing };
    return { tuple: await this.#tupleOf(stored, values), values, blobs };
  }

  async #tupleOf({ record, writes }: StoredCheckpoint, values: Blobs): Promise<CheckpointTuple> {
    const { branch, id, parentId } = record;
    const checkpoint = (await this.#load(record.checkpoint)) as Checkpoint;
    checkpoint.channel_values = {};
    for (const [name, { value }] of record.channels) {
      const frame = typeof value === 'number' ? record.values[value]! : values.get(valueId(value))!;
      Object.defineProperty(checkpoint.channel_values, name, { ...OWN, value: await this.#load(frame) });
    }
    if (checkpoint.v < 4 && parentId !== null) await this.#addPendingSends(checkpoint, branch, parentId);
    const pendingWrites: CheckpointPendingWrite[] = [];
    for (const { task, channel, value, blob } of writes) {
      pendingWrites.push([task, channel, await this.#load(blob === null ? value : values.get(valueId(blob))!)]);
    }
    return {
      config: configOf(branch, id),
      checkpoint,
      metadata: (await this.#load(record.metadata)) as CheckpointMetadata,
      ...(parentId !== null && { parentConfig: configOf(branch, parentId) }),
      pendingWrites,
    };
  }

  /** Adds the sends of a step. Before version 4 of the format, they were stored as writes of the step's parent. */
  async #addPendingSends(checkpoint: Checkpoint, branch: Branch, parentId: string): Promise<void> {
    const parent = await readCheckpoint(this.#kv, branch, parentId);
    const sends = (parent?.writes ?? []).filter(({ channel }) => channel === TASKS);
    const refs = sends.flatMap(({ blob }) => (blob === null ? [] : [blob]));
    const blobs: Blobs = refs.length === 0 ? new Map() : await readBlobs(this.#kv, branch, refs);
    const values: unknown[] = [];
    for (const { value, blob } of sends) {
      const frame = blob === null ? value : blobs.get(blobId(blob));
      if (frame === undefined) throw missingBlob(branch, parentId, TASKS);
      values.push(await this.#load(frame));
    }
    checkpoint.channel_values[TASKS] = values;
    const versions = Object.values(checkpoint.channel_versions);
    checkpoint.channel_versions[TASKS] = versions.length > 0 ? maxChannelVersion(...versions) : 1;
  }

  #load(frame: Frame): Promise<unknown> {
    return this.#serialiser.load(frame);
  }
}
