/** A store for the resumable streams of assistant-stream, on any engine. */

import { isUtf8 } from 'node:buffer';
import type { Duration, Store } from '@tidemark/core';
import type {
  ResumableStreamAcquireOptions,
  ResumableStreamEntry,
  ResumableStreamRole,
  ResumableStreamStatus,
  ResumableStreamStore,
} from 'assistant-stream/resumable';
import { ResumableStreamError } from 'assistant-stream/resumable';
import { Heartbeats } from './heartbeats.ts';
import { checkId, checkStore, durationOf } from './options.ts';
import { readStream } from './read-stream.ts';
import { type Chunk, type OpenStream, StreamLogs, type WriteOutcome } from './stream-logs.ts';

/** Options of `TidemarkStreamStore`. */
export interface TidemarkStreamStoreOptions {
  /** How long a stream is kept after its last change. Default: 24 hours. */
  ttl?: Duration;
  /** How long after its process has died a stream ends with an error. Default: 30 seconds. */
  producerTimeout?: Duration;
}

/** The identity of a producer, in the form that newer versions of the package pass. */
interface Lease {
  readonly token: string;
}

const STREAM_ID = /^[A-Za-z0-9_.:-]{1,256}$/;

/**
 * Stores the resumable streams of assistant-stream in a Tidemark store on any engine.
 *
 * A finished stream stays readable until it expires. If the process of a producer dies, readers get everything that the
 * producer stored, and then an error instead of waiting endlessly.
 *
 * @example
 * const store = new TidemarkStreamStore(await open('sqlite:streams.db')); const context =
 * createResumableStreamContext({ store });
 */
export class TidemarkStreamStore implements ResumableStreamStore {
  readonly #logs: StreamLogs;
  readonly #heartbeats: Heartbeats;

  /** @throws `INVALID_ARGUMENT` if the first argument is not a store, or an option is not a duration. */
  constructor(store: Store, { ttl = '24h', producerTimeout = '30s' }: TidemarkStreamStoreOptions = {}) {
    this.#logs = new StreamLogs(checkStore(store), {
      ttlMs: durationOf(ttl, 'ttl'),
      producerTimeoutMs: durationOf(producerTimeout, 'producerTimeout'),
    });
    this.#heartbeats = new Heartbeats(this.#logs);
  }

  /**
   * Returns `producer` to the first caller of a stream, and `consumer` to all others until the stream is deleted or
   * expires.
   */
  async acquire(streamId: string, options?: ResumableStreamAcquireOptions): Promise<ResumableStreamRole> {
    return (await this.acquireLease(streamId, options)).role;
  }

  /**
   * Like `acquire`. A producer also gets a lease. If the stream has begun again, writes with the old lease have no
   * effect.
   */
  async acquireLease(
    streamId: string,
    options?: ResumableStreamAcquireOptions,
  ): Promise<{ readonly role: 'producer'; readonly lease: Lease } | { readonly role: 'consumer' }> {
    const stream = await this.#logs.acquire(checkStreamId(streamId), options?.ttlMs);
    if (stream === null) return { role: 'consumer' };
    this.#heartbeats.start(streamId, stream);
    return { role: 'producer', lease: { token: stream.runId } };
  }

  /** Appends a chunk, and renews the time to live. */
  async append(streamId: string, chunk: Uint8Array, lease?: Lease): Promise<void> {
    const stream = await this.#streamOf(streamId, lease);
    const outcome = await this.#logs.append(streamId, stream, [encode(chunk)]);
    if (outcome === 'written') return;
    this.#heartbeats.stop(stream.runId);
    throw refusalOf(outcome, streamId);
  }

  /** Ends a stream. Does nothing if it has ended, or if the lease belongs to an earlier stream. */
  async finalize(streamId: string, status: 'done' | 'error', error?: string, lease?: Lease): Promise<void> {
    const stream = await this.#streamOf(streamId, lease);
    this.#heartbeats.stop(stream.runId);
    const end = status === 'done' ? { status } : { status, error: error ?? 'Stream errored' };
    if ((await this.#logs.end(streamId, stream, end)) === 'missing') throw refusalOf('missing', streamId);
  }

  /** Yields the entries after a cursor, and then each new entry until the stream ends. */
  async *read(streamId: string, cursor: string, signal: AbortSignal): AsyncGenerator<ResumableStreamEntry> {
    const stream = await this.#streamOf(streamId);
    const after = cursor === '' ? 0 : Number.parseInt(cursor, 36);
    const afterSeq = Number.isSafeInteger(after) && after > 0 ? after : 0;
    for await (const { seq, chunk } of readStream(this.#logs, streamId, stream, afterSeq, signal)) {
      if (signal.aborted) return;
      yield { cursor: seq.toString(36), chunk: decode(chunk) };
    }
  }

  /** Returns whether a stream is being produced, has ended, or does not exist. */
  async status(streamId: string): Promise<ResumableStreamStatus> {
    const stream = await this.#logs.find(checkStreamId(streamId));
    if (stream === null) return 'missing';
    const end = await this.#logs.endOf(stream.runId);
    if (end === null) return 'streaming';
    return end.status === 'error' ? 'error' : 'done';
  }

  /** Deletes a stream and ends its readers. The id may be used again. */
  async delete(streamId: string): Promise<void> {
    await this.#logs.remove(checkStreamId(streamId));
  }

  /** Deletes what is left of streams that have expired, and returns their number. Call it regularly. */
  async deleteExpired(): Promise<number> {
    return this.#logs.sweep();
  }

  async #streamOf(streamId: string, lease?: Lease): Promise<OpenStream> {
    const stream = await this.#logs.find(checkStreamId(streamId));
    if (stream === null) throw refusalOf('missing', streamId);
    return lease === undefined ? stream : { ...stream, runId: lease.token };
  }
}

/** Text is stored as text rather than as base64, so that it is readable in the store. */
function encode(chunk: Uint8Array): Chunk {
  const bytes = Buffer.from(chunk);
  return isUtf8(bytes) ? { text: bytes.toString('utf8') } : { bytes: bytes.toString('base64') };
}

function decode(chunk: Chunk): Uint8Array {
  return new Uint8Array('text' in chunk ? Buffer.from(chunk.text, 'utf8') : Buffer.from(chunk.bytes, 'base64'));
}

function checkStreamId(streamId: string): string {
  checkId(streamId);
  if (STREAM_ID.test(streamId)) return streamId;
  throw new ResumableStreamError('invalid-id', `Invalid streamId: ${streamId} (must match ${STREAM_ID})`);
}

function refusalOf(outcome: Exclude<WriteOutcome, 'written'>, streamId: string): Error {
  switch (outcome) {
    case 'missing':
      return new Error(`Stream not found: ${streamId}`);
    case 'superseded':
      return new ResumableStreamError('missing', `Stream superseded by a new acquisition: ${streamId}`);
    case 'ended':
      return new ResumableStreamError('finalized', `Stream already finalized: ${streamId}`);
  }
}
