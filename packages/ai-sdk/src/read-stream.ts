/** Reads a stream from its log. Detects when the stream expires or is deleted, or when its producer has died. */
import type { Chunk, OpenStream, StreamLogs } from './stream-logs.ts';

/** The longest time between two checks of an idle stream. */
const LOOK_EVERY_MS = 1_000;

/** A chunk with its sequence in the run. */
export interface ReadChunk {
  seq: number;
  chunk: Chunk;
}

/**
 * Yields the chunks after a sequence, and then each new chunk until the stream ends. Ends without an error if the
 * stream was completed, stopped or deleted, or if `signal` aborts.
 *
 * @throws `Error` with the message of the producer, or if the stream expired or its producer died.
 */
export async function* readStream(
  logs: StreamLogs,
  id: string,
  stream: OpenStream,
  afterSeq: number,
  signal: AbortSignal,
): AsyncGenerator<ReadChunk> {
  if (signal.aborted) return;
  const watch = new IdleWatch(logs, id, stream);
  try {
    for await (const { seq, chunk, end } of logs.follow(
      stream.runId,
      afterSeq,
      AbortSignal.any([signal, watch.signal]),
    )) {
      watch.reset();
      if (end?.status === 'error') throw new Error(end.error ?? 'Stream errored');
      if (end !== undefined) return;
      yield { seq, chunk: chunk! };
      watch.reset();
    }
    if (!signal.aborted && watch.state === 'gone') throw new Error('Stream expired');
  } catch (error) {
    if (!signal.aborted) throw error;
  } finally {
    watch.close();
  }
}

/** Checks a stream whenever no chunk has arrived for a while. */
class IdleWatch {
  readonly #logs: StreamLogs;
  readonly #id: string;
  readonly #stream: OpenStream;
  readonly #gone = new AbortController();
  readonly #everyMs: number;
  #timer: ReturnType<typeof setTimeout> | undefined;
  state: 'open' | 'deleted' | 'gone' = 'open';

  constructor(logs: StreamLogs, id: string, stream: OpenStream) {
    this.#logs = logs;
    this.#id = id;
    this.#stream = stream;
    this.#everyMs = Math.max(20, Math.min(LOOK_EVERY_MS, stream.ttlMs / 4, logs.options.producerTimeoutMs / 4));
    this.reset();
  }

  /** Aborts when the stream no longer exists. */
  get signal(): AbortSignal {
    return this.#gone.signal;
  }

  reset(): void {
    this.close();
    this.#timer = setTimeout(() => void this.#look(), this.#everyMs);
  }

  close(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  async #look(): Promise<void> {
    const timer = this.#timer;
    try {
      this.state = await this.#logs.stateOf(this.#id, this.#stream.runId);
      if (this.state !== 'open') return this.#gone.abort();
      if (!(await this.#logs.isProduced(this.#id, this.#stream.runId))) {
        // If the producer was only slow, its next write finds this end, so all readers see the same end.
        await this.#logs.end(this.#id, this.#stream, { status: 'error', error: 'The producer of the stream stopped' });
      }
    } catch {
      // The store does not respond. If this persists, the tail reports it.
    }
    // False if the watch was closed or reset in the meantime.
    if (this.#timer === timer) this.reset();
  }
}
