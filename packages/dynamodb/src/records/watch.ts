/**
 * Watches records: changes by this process are read at once, and changes by other processes are found by comparing the
 * prefix at intervals. The latest state of every changed key is reported. Intermediate states between two comparisons
 * may be skipped.
 */
import { isTidemarkError } from '@tidemark/core';
import { ChangeQueue, type EngineCall, type RecordChange, type RecordName, sleep } from '@tidemark/core/engine';
import type { Client } from '../client.ts';
import type { Hints, RecordHint } from '../hints.ts';
import { isLive, type MarkedRecord, nextRevision, readItem } from './record-item.ts';
import { scanItems } from './scanning.ts';

const LOOK_EVERY_MS = 500;
const LOOK_LIMIT_MS = 5_000;
/** After a long comparison, the watcher sleeps for this multiple of its duration. */
const REST_FACTOR = 4;
const PAGE = 1_000;

/** The part of the records engine that a watch uses. */
interface MarkedReader {
  getMarked(names: readonly RecordName[], call: EngineCall): Promise<(MarkedRecord | null)[]>;
}

interface WatchSources {
  client: Client;
  hints: Hints;
  records: MarkedReader;
  clock: () => number;
}

/** The last known state of a key. */
interface Known {
  revision: number;
  expiresAt: number | null;
  removed: boolean;
}

type Target = Omit<RecordName, 'key'> & { prefix: string };

export function watchRecords(
  sources: WatchSources,
  target: Target,
  signal: AbortSignal,
): AsyncGenerator<RecordChange, void, undefined> {
  // Created outside the generator, because a watch begins with the call rather than when the first change is awaited.
  return new Watcher(sources, target, signal).changes();
}

class Watcher {
  readonly #sources: WatchSources;
  readonly #target: Target;
  readonly #ended = new AbortController();
  readonly #signal: AbortSignal;
  readonly #queue: ChangeQueue;
  readonly #beganAt = nextRevision();
  #known: Map<string, Known> | null = null;
  /** Changes made by this process before the first comparison was complete. */
  readonly #early: RecordHint[] = [];
  #failure: unknown;

  constructor(sources: WatchSources, target: Target, signal: AbortSignal) {
    this.#sources = sources;
    this.#target = target;
    this.#signal = AbortSignal.any([signal, this.#ended.signal]);
    this.#queue = new ChangeQueue(this.#signal);
    const stop = sources.hints.watchRecords((hint) => this.#onHint(hint));
    this.#signal.addEventListener('abort', stop, { once: true });
    void this.#run();
  }

  async *changes(): AsyncGenerator<RecordChange, void, undefined> {
    try {
      yield* this.#queue.changes();
      if (this.#failure !== undefined) throw this.#failure;
    } finally {
      this.#ended.abort();
    }
  }

  #onHint(hint: RecordHint): void {
    const { name, revision, record } = hint;
    const { space, tenantId, prefix } = this.#target;
    if (name.space !== space || name.tenantId !== tenantId || !name.key.startsWith(prefix)) return;
    if (!this.#known) this.#early.push(hint);
    else if (revision > (this.#known.get(name.key)?.revision ?? 0)) {
      const expiresAt = record?.ttlMs ? this.#sources.clock() + record.ttlMs : null;
      this.#known.set(name.key, { revision, expiresAt, removed: record === null });
      this.#queue.push({ key: name.key, type: record ? 'put' : 'delete', record });
    }
  }

  async #run(): Promise<void> {
    while (!this.#signal.aborted) {
      const began = performance.now();
      try {
        await this.#compare({ signal: this.#signal, deadline: Date.now() + LOOK_LIMIT_MS });
      } catch (error) {
        if (!isTidemarkError(error) || !error.retryable) this.#fail(error);
      }
      await sleep(Math.max(LOOK_EVERY_MS, REST_FACTOR * (performance.now() - began)), this.#signal);
    }
  }

  #fail(error: unknown): void {
    if (!this.#signal.aborted) this.#failure = error;
    this.#ended.abort();
  }

  /** Reports the differences from the last comparison. The first comparison only records the state before the watch. */
  async #compare(call: EngineCall): Promise<void> {
    const { space, tenantId, prefix } = this.#target;
    const known = this.#known ?? new Map<string, Known>();
    const range = { prefix, after: null, keysOnly: true, limit: PAGE };
    const seen = new Set<string>();
    const changed: string[] = [];
    for await (const items of scanItems(this.#sources.client, space, tenantId, range, call)) {
      const now = this.#sources.clock();
      for (const item of items) {
        const key = item.k!.S!;
        const found = readItem({ space, tenantId, key }, item);
        seen.add(key);
        const before = known.get(key);
        const isOld = !this.#known && found.revision < this.#beganAt;
        if (isOld) known.set(key, { ...found, removed: !isLive(found, now) });
        else if (!before || before.revision < found.revision || (!before.removed && !isLive(found, now)))
          changed.push(key);
      }
    }
    if (!this.#known) {
      this.#known = known;
      for (const hint of this.#early.splice(0)) this.#onHint(hint);
    }
    const vanished = [...known].filter(([key, { removed }]) => !removed && !seen.has(key)).map(([key]) => key);
    await this.#report([...changed, ...vanished], call);
    for (const [key, { removed }] of known) if (removed && !seen.has(key)) known.delete(key);
  }

  /** Reads keys that have changed, and reports new states. */
  async #report(keys: readonly string[], call: EngineCall): Promise<void> {
    if (keys.length === 0) return;
    const { space, tenantId } = this.#target;
    const names = keys.map((key) => ({ space, tenantId, key }));
    // A damaged record must not end the watch. It is skipped until it is written again.
    const records = await this.#sources.records.getMarked(names, call);
    const now = this.#sources.clock();
    for (const [at, key] of keys.entries()) {
      const [record, before] = [records[at]!, this.#known!.get(key)];
      if (record?.damaged) continue;
      if (record) {
        if (before && !before.removed && before.revision >= record.revision) continue;
        const expiresAt = record.ttlMs === null ? null : now + record.ttlMs;
        this.#known!.set(key, { revision: record.revision, expiresAt, removed: false });
        this.#queue.push({ key, type: 'put', record });
      } else if (!before?.removed) {
        const isExpired = before?.expiresAt !== null && before !== undefined && before.expiresAt <= now;
        // The revision of the removal is not known here, but any later revision is higher than this one.
        this.#known!.set(key, { revision: before?.revision ?? 0, expiresAt: null, removed: true });
        if (before) this.#queue.push({ key, type: isExpired ? 'expire' : 'delete', record: null });
      }
    }
  }
}
