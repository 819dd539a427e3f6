/** Resumable streams of text with the interface of the package `resumable-stream`, on any engine. */
import type { Duration, Store } from '@tidemark/core';
import type { ResumableStreamContext } from 'resumable-stream';
import { Heartbeats } from './heartbeats.ts';
import { checkId, checkStore, durationOf, refuse } from './options.ts';
import { produce } from './produce.ts';
import { readStream } from './read-stream.ts';
import { type OpenStream, StreamLogs } from './stream-logs.ts';

/** Options of `createResumableStreamContext`. */
export interface TidemarkStreamContextOptions {
  /** Keeps the program alive until a stream is stored, such as `after` in Next.js. Default: none. */
  waitUntil?: ((promise: Promise<unknown>) => void) | null;
  /** A prefix that separates the streams of several contexts. Default: no prefix. */
  keyPrefix?: string;
  /** How long a stream is kept after its last change. Default: 24 hours. */
  ttl?: Duration;
  /** How long after its process has died a stream ends with an error. Default: 30 seconds. */
  producerTimeout?: Duration;
  /** Whether finished streams are returned from their beginning instead of as `null`. Default: false. */
  replayFinished?: boolean;
}

/** The four methods of `resumable-stream`, and the methods that a durable store adds. */
export interface TidemarkStreamContext extends ResumableStreamContext {
  /**
   * Ends a stream from any process: cancels its source and ends its readers. Returns whether the stream was being
   * produced.
   */
  stopStream(streamId: string): Promise<boolean>;
  /** Deletes a stream and ends its readers. The id may be used again. */
  deleteStream(streamId: string): Promise<void>;
  /** Deletes what is left of streams that have expired, and returns their number. Call it regularly. */
  deleteExpired(): Promise<number>;
}

/**
 * Returns a context whose streams survive the process. A chunk is stored before it is delivered, so a reader that
 * resumes gets at least the chunks that it got earlier.
 *
 * @throws `INVALID_ARGUMENT` if the first argument is not a store, or an option is invalid.
 *
 * @example
 * const streams = createResumableStreamContext(await open('sqlite:streams.db')); const stream = await
 * streams.resumableStream('chat-7', () => makeStream()); return new Response(stream, { headers: { 'content-type':
 * 'text/event-stream' } });
 */
export function createResumableStreamContext(
  store: Store,
  options: TidemarkStreamContextOptions = {},
): TidemarkStreamContext {
  return new StreamContext(checkStore(store), options);
}

class StreamContext implements TidemarkStreamContext {
  readonly #logs: StreamLogs;
  readonly #heartbeats: Heartbeats;
  readonly #prefix: string;
  readonly #replayFinished: boolean;
  readonly #waitUntil: (promise: Promise<unknown>) => void;

  constructor(store: Store, options: TidemarkStreamContextOptions) {
    const { waitUntil, keyPrefix = '', ttl = '24h', producerTimeout = '30s', replayFinished = false } = options;
    if (typeof keyPrefix !== 'string') throw refuse('keyPrefix', 'must be text');
    this.#logs = new StreamLogs(store, {
      ttlMs: durationOf(ttl, 'ttl'),
      producerTimeoutMs: durationOf(producerTimeout, 'producerTimeout'),
    });
    this.#heartbeats = new Heartbeats(this.#logs);
    this.#prefix = keyPrefix;
    this.#replayFinished = replayFinished;
    this.#waitUntil = waitUntil ?? (() => {});
  }

  resumableStream = async (
    streamId: string,
    makeStream: () => ReadableStream<string>,
    skipCharacters?: number,
  ): Promise<ReadableStream<string> | null> => {
    const id = this.#idOf(streamId);
    for (;;) {
      const created = await this.#create(id, makeStream);
      if (created !== null) return created;
      const resumed = await this.#resume(id, skipCharacters);
      if (resumed !== undefined) return resumed;
    }
  };

  resumeExistingStream = async (
    streamId: string,
    skipCharacters?: number,
  ): Promise<ReadableStream<string> | null | undefined> => this.#resume(this.#idOf(streamId), skipCharacters);

  createNewResumableStream = async (
    streamId: string,
    makeStream: () => ReadableStream<string>,
    _skipCharacters?: number,
  ): Promise<ReadableStream<string> | null> => {
    const id = this.#idOf(streamId);
    for (;;) {
      const created = await this.#create(id, makeStream);
      if (created !== null) return created;
      await this.#logs.remove(id);
    }
  };

  hasExistingStream = async (streamId: string): Promise<null | true | 'DONE'> => {
    const stream = await this.#logs.find(this.#idOf(streamId));
    if (stream === null) return null;
    return (await this.#logs.endOf(stream.runId)) === null ? true : 'DONE';
  };

  async stopStream(streamId: string): Promise<boolean> {
    const id = this.#idOf(streamId);
    const stream = await this.#logs.find(id);
    return stream !== null && (await this.#logs.end(id, stream, { status: 'stopped' })) === 'written';
  }

  async deleteStream(streamId: string): Promise<void> {
    await this.#logs.remove(this.#idOf(streamId));
  }

  async deleteExpired(): Promise<number> {
    return this.#logs.sweep();
  }

  /** Returns the stream if this caller is its producer. */
  async #create(id: string, makeStream: () => ReadableStream<string>): Promise<ReadableStream<string> | null> {
    const stream = await this.#logs.acquire(id);
    if (stream === null) return null;
    let source: ReadableStream<string>;
    try {
      source = makeStream();
    } catch (error) {
      await this.#logs.remove(id);
      throw error;
    }
    const production = produce(this.#logs, this.#heartbeats, id, stream, source);
    // If storing fails, readers learn this from the store: in this process at once, and in other processes when the
    // heartbeat stops.
    production.catch(() => {});
    this.#waitUntil(production);
    return this.#readable(id, stream, 0);
  }

  async #resume(id: string, skipCharacters?: number): Promise<ReadableStream<string> | null | undefined> {
    const stream = await this.#logs.find(id);
    if (stream === null) return undefined;
    if (!this.#replayFinished && (await this.#logs.endOf(stream.runId)) !== null) return null;
    return this.#readable(id, stream, skipCharacters ?? 0);
  }

  #readable(id: string, stream: OpenStream, skipCharacters: number): ReadableStream<string> {
    const cancelled = new AbortController();
    const chunks = readStream(this.#logs, id, stream, 0, cancelled.signal);
    let skip = Math.max(0, skipCharacters);
    return new ReadableStream<string>({
      async pull(controller) {
        for (;;) {
          const { done, value } = await chunks.next();
          if (done) return controller.close();
          const text = 'text' in value.chunk ? value.chunk.text : '';
          const rest = text.slice(skip);
          skip = Math.max(0, skip - text.length);
          if (rest !== '') return controller.enqueue(rest);
        }
      },
      async cancel() {
        cancelled.abort();
        await chunks.return(undefined);
      },
    });
  }

  #idOf(streamId: string): string {
    return `${this.#prefix}${checkId(streamId)}`;
  }
}
