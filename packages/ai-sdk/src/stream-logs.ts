/**
 * Streams as logs: a run holds the chunks, and a kv record with a time to live names the run. The record expires, so a
 * stream ends on every engine without a job that searches for old streams. `sweep` deletes the runs that remain.
 *
 * tidemark.ai-sdk.stream.<id> names the run, and how long the stream stays after its last change
 * tidemark.ai-sdk.producer.<id>.<run> the heartbeat of the producer; expires if its process dies
 */
import { isTidemarkError, NAME_LABEL, OWNER_LABEL, type RunEventRecord, type Store, textOf } from '@tidemark/core';
import { appendOnce, eventsOfValue, keySegment, LruMap, type OwnedEvent, ValueReader } from '@tidemark/core/adapters';

const ADAPTER = 'ai-sdk';
const STREAMS = 'tidemark.ai-sdk.stream.';
const PRODUCERS = 'tidemark.ai-sdk.producer.';
/** The label of a run. Its value is the segment of the stream's key. */
const STREAM_LABEL = 'tidemark.ai-sdk.stream';

const RUN = 'run';
const TTL = 'ttl';
/**
 * The field that names the run of a deleted stream. Readers of a deleted stream end without an error, unlike readers of
 * an expired stream.
 */
const DELETED = 'deleted';
const DELETED_TTL_MS = 60_000;

const CHUNK = 'chunk';
const CHUNK_STORED = 'ChunkStored';
const STREAM_ENDED = 'StreamEnded';
/** The idempotency key of the end, so that only the first end of a stream is stored. */
const END_KEY = 'end';
const REMEMBERED_RUNS = 10_000;

/** A piece of a stream: text, or bytes as base64. */
export type Chunk = { text: string } | { bytes: string };

/** How a stream ended. `stopped` means that a reader stopped it. */
export interface StreamEnd {
  status: 'done' | 'error' | 'stopped' | 'deleted';
  error?: string;
}

/** A chunk or the end of a stream, with its sequence in the run. */
export interface StreamEntry {
  seq: number;
  chunk?: Chunk;
  end?: StreamEnd;
}

/** The run of a stream, and how long the stream is kept. */
export interface OpenStream {
  runId: string;
  ttlMs: number;
}

/**
 * The outcome of a write: `missing` if there is no such stream, `superseded` if the stream began again in another run.
 */
export type WriteOutcome = 'written' | 'ended' | 'missing' | 'superseded';

export interface StreamLogsOptions {
  ttlMs: number;
  producerTimeoutMs: number;
}

/** Creates, writes, reads and deletes streams. */
export class StreamLogs {
  readonly #store: Store;
  readonly options: StreamLogsOptions;
  /** The last sequence of each run that this process writes. A wrong sequence is detected when it is used. */
  readonly #heads = new LruMap<string, number>(REMEMBERED_RUNS);

  constructor(store: Store, options: StreamLogsOptions) {
    this.#store = store;
    this.options = options;
  }

  /** Begins a stream unless it exists. Returns the new stream to one caller, and `null` to all others. */
  async acquire(id: string, ttlMs = this.options.ttlMs): Promise<OpenStream | null> {
    if ((await this.find(id)) !== null) return null;
    const runId = `tidemark.${ADAPTER}.${crypto.randomUUID()}`;
    // The heartbeat begins first, because a stream without a heartbeat counts as one whose process has died.
    await this.beat(id, runId);
    const { swapped } = await this.#store.kv.swap(streamKey(id), {
      expected: { [RUN]: null },
      set: { [RUN]: runId, [TTL]: ttlMs, [DELETED]: null },
      ttl: ttlMs,
    });
    if (!swapped) return null;
    this.#heads.set(runId, 0);
    return { runId, ttlMs };
  }

  /** Returns the stream that an id names now. */
  async find(id: string): Promise<OpenStream | null> {
    const record = await this.#store.kv.get(streamKey(id));
    const runId = textOf(record?.fields[RUN]);
    return runId === null ? null : { runId, ttlMs: Number(textOf(record!.fields[TTL])) };
  }

  /** Renews the heartbeat of a producer. */
  async beat(id: string, runId: string): Promise<void> {
    await this.#store.kv.put(producerKey(id, runId), { [RUN]: runId }, { ttl: this.options.producerTimeoutMs });
  }

  /** Appends chunks, and renews the time to live. */
  async append(id: string, stream: OpenStream, chunks: readonly Chunk[]): Promise<WriteOutcome> {
    const limit = this.#store.info.limits.eventPayloadBytes;
    const events = chunks.flatMap((value) => eventsOfValue({ eventType: CHUNK_STORED, member: CHUNK, value }, limit));
    // Both calls are made at once. If the stream has expired, its events are in a run that no record names.
    const [renewed, appended] = await Promise.allSettled([
      this.#renew(id, stream),
      this.#appendOpen(id, stream, events),
    ]);
    if (renewed.status === 'rejected') throw renewed.reason;
    if (renewed.value !== 'written') return renewed.value;
    if (appended.status === 'rejected') throw appended.reason;
    return appended.value;
  }

  /** Ends a stream, unless it has ended already. */
  async end(id: string, stream: OpenStream, end: StreamEnd): Promise<WriteOutcome> {
    const renewed = await this.#renew(id, stream);
    if (renewed !== 'written') return renewed;
    const payload = { status: end.status, ...(end.error !== undefined && { error: end.error }) };
    const event = { eventType: STREAM_ENDED, payload, idempotencyKey: END_KEY };
    try {
      const [result] = await appendOnce(this.#store, this.#inputs(id, stream, [event]));
      return result!.persisted ? 'written' : 'ended';
    } catch (error) {
      if (isTidemarkError(error, 'RUN_DELETED')) return 'missing';
      throw error;
    }
  }

  /** Returns how a run ended, or `null` if it has not ended. */
  async endOf(runId: string): Promise<StreamEnd | null> {
    const last = await this.#lastOf(runId);
    return last === null ? null : endIn(last);
  }

  /** Yields the entries of a run after a sequence, and then each new entry up to the end. */
  async *follow(runId: string, afterSeq: number, signal: AbortSignal): AsyncGenerator<StreamEntry> {
    const reader = new ValueReader<Chunk>(CHUNK);
    for await (const event of this.#store.runs.tail(runId, { afterSeq, signal })) {
      const end = endIn(event);
      if (end !== null) {
        yield { seq: event.runSeq, end };
        return;
      }
      const read = reader.next(event);
      if (read !== null) yield { seq: event.runSeq, chunk: read.value };
    }
  }

  /**
   * Returns whether a stream still has the run that a reader follows (`open`), was deleted, or has expired or begun
   * again.
   */
  async stateOf(id: string, runId: string): Promise<'open' | 'deleted' | 'gone'> {
    const record = await this.#store.kv.get(streamKey(id));
    if (textOf(record?.fields[RUN]) === runId) return 'open';
    return textOf(record?.fields[DELETED]) === runId ? 'deleted' : 'gone';
  }

  /** Whether the producer of a stream has renewed its heartbeat in time. */
  async isProduced(id: string, runId: string): Promise<boolean> {
    return (await this.#store.kv.getField(producerKey(id, runId), RUN)) !== null;
  }

  /** Deletes a stream. Its readers end. Returns whether it existed. */
  async remove(id: string): Promise<boolean> {
    const stream = await this.find(id);
    if (stream === null) return false;
    const { runId } = stream;
    await this.end(id, stream, { status: 'deleted' });
    await this.#store.kv.swap(streamKey(id), {
      expected: { [RUN]: runId },
      set: { [RUN]: null, [TTL]: null, [DELETED]: runId },
      ttl: DELETED_TTL_MS,
    });
    await this.#store.runs.deleteRun(runId);
    await this.#store.kv.delete(producerKey(id, runId));
    return true;
  }

  /** Deletes the runs of streams that have expired, and returns their number. */
  async sweep(idleForMs = this.options.ttlMs): Promise<number> {
    const updatedBefore = new Date(Date.now() - idleForMs).toISOString();
    let deleted = 0;
    let cursor: string | undefined;
    do {
      const page = await this.#store.runs.listRuns({
        labels: { [OWNER_LABEL]: ADAPTER },
        updatedBefore,
        limit: 1_000,
        ...(cursor !== undefined && { cursor }),
      });
      for (const { runId, labels } of page.items) {
        // A record names its run before the run has events. A run that no record names has expired or was deleted.
        const named = await this.#store.kv.getField(`${STREAMS}${labels[STREAM_LABEL]}`, RUN);
        if (textOf(named) !== runId && (await this.#store.runs.deleteRun(runId))) deleted += 1;
      }
      cursor = page.next;
    } while (cursor !== undefined);
    return deleted;
  }

  async #renew(id: string, { runId, ttlMs }: OpenStream): Promise<WriteOutcome> {
    const change = { expected: { [RUN]: runId }, set: { [TTL]: ttlMs }, ttl: ttlMs };
    const { swapped, record } = await this.#store.kv.swap(streamKey(id), change);
    if (swapped) return 'written';
    return record === null || record.fields[RUN] === undefined ? 'missing' : 'superseded';
  }

  /**
   * Appends events with the last known sequence as the fence, so that nothing follows an end that another process has
   * stored.
   */
  async #appendOpen(id: string, stream: OpenStream, events: readonly OwnedEvent[]): Promise<WriteOutcome> {
    const { runId } = stream;
    for (;;) {
      let expectedSeq = this.#heads.get(runId);
      if (expectedSeq === undefined) {
        const last = await this.#lastOf(runId);
        if (last !== null && endIn(last) !== null) return 'ended';
        expectedSeq = last?.runSeq ?? 0;
      }
      try {
        const results = await appendOnce(this.#store, this.#inputs(id, stream, events), { expectedSeq });
        this.#heads.set(runId, results.at(-1)!.runSeq);
        return 'written';
      } catch (error) {
        if (isTidemarkError(error, 'RUN_DELETED')) return 'missing';
        if (!isTidemarkError(error, 'SEQ_CONFLICT')) throw error;
        this.#heads.delete(runId);
      }
    }
  }

  async #lastOf(runId: string): Promise<RunEventRecord | null> {
    const [last] = await this.#store.runs.fetchEvents(runId, { order: 'newest', limit: 1 });
    return last ?? null;
  }

  #inputs(id: string, { runId }: OpenStream, events: readonly OwnedEvent[]) {
    const labels = { [OWNER_LABEL]: ADAPTER, [NAME_LABEL]: id, [STREAM_LABEL]: keySegment(id) };
    return events.map((event) => ({ runId, planId: ADAPTER, labels, ...event }));
  }
}

function streamKey(id: string): string {
  return `${STREAMS}${keySegment(id)}`;
}

function producerKey(id: string, runId: string): string {
  return `${PRODUCERS}${keySegment(id)}.${runId}`;
}

function endIn({ eventType, payload }: RunEventRecord): StreamEnd | null {
  return eventType === STREAM_ENDED ? (payload as unknown as StreamEnd) : null;
}
