/**
 * Watches records. Hints report changes at once. Every change in a bucket has its own revision, so a gap in the
 * revisions shows that a hint was missed. The bucket is then compared with the known records. The watcher reports the
 * latest state of every changed key and may skip intermediate states that another process wrote.
 */
import { isTidemarkError } from '@tidemark/core';
import {
  ChangeQueue,
  Damage,
  type EngineCall,
  type RecordChange,
  type RecordName,
  type Records,
  type StoredRecord,
} from '@tidemark/core/engine';
import type { Commands } from './commands.ts';
import type { Hints, RecordHint } from './hints.ts';
import type { Layout } from './layout.ts';
import { prefixRange, readLexical } from './lexical.ts';
import { META, parseMeta } from './stored-record.ts';

const LOOK_EVERY_MS = 250;
const LOOK_LIMIT_MS = 5_000;
/** After a long comparison, the watcher sleeps for this multiple of its duration. */
const REST_FACTOR = 4;
const NAMES_AT_ONCE = 500;

interface WatchParts {
  commands: Commands;
  layout: Layout;
  hints: Hints;
  records: Records;
}

/** The last known state of a key. A removal is kept until a comparison of its bucket has covered it. */
interface Known {
  revision: number;
  expiresAt: number | null;
  removed: boolean;
}

/** The progress of a bucket. */
interface Progress {
  /** All changes up to this revision have been reported. */
  upTo: number;
  /** Revisions above `upTo` that hints have reported. */
  reported: Set<number>;
  /** The revision counter at the previous comparison. A remaining gap below it means that a hint was missed. */
  counter: number;
}

export class RecordWatcher {
  readonly #parts: WatchParts;
  readonly #target: Omit<RecordName, 'key'> & { prefix: string };
  readonly #ended = new AbortController();
  readonly #signal: AbortSignal;
  readonly #queue: ChangeQueue;
  readonly #known = new Map<string, Known>();
  readonly #dirty = new Set<string>();
  #progress: Progress[] | null = null;
  /** Hints that arrived before the first comparison was complete. */
  #early: RecordHint[] = [];
  #wake: () => void = () => {};
  #failure: unknown;

  constructor(parts: WatchParts, target: Omit<RecordName, 'key'> & { prefix: string }, signal: AbortSignal) {
    this.#parts = parts;
    this.#target = target;
    this.#signal = AbortSignal.any([signal, this.#ended.signal]);
    this.#queue = new ChangeQueue(this.#signal);
    const stop = parts.hints.watchRecords((hint) => this.#onHint(hint));
    this.#signal.addEventListener('abort', stop, { once: true });
    // The first comparison starts now. Changes are reported from this moment on.
    void this.#run();
  }

  /** Yields changes until the caller's signal aborts. */
  async *changes(): AsyncGenerator<RecordChange, void, undefined> {
    try {
      yield* this.#queue.changes();
      if (this.#failure !== undefined) throw this.#failure;
    } finally {
      this.#ended.abort();
    }
  }

  async #run(): Promise<void> {
    while (!this.#signal.aborted) {
      const began = performance.now();
      try {
        await this.#look({ signal: this.#signal, deadline: Date.now() + LOOK_LIMIT_MS });
      } catch (error) {
        if (!isTidemarkError(error) || !error.retryable) this.#fail(error);
      }
      await this.#rest(Math.max(LOOK_EVERY_MS, REST_FACTOR * (performance.now() - began)));
    }
  }

  #fail(error: unknown): void {
    if (!this.#signal.aborted) this.#failure = error;
    this.#ended.abort();
  }

  /** Sleeps until the next comparison, but reads keys named by hints at once. */
  async #rest(ms: number): Promise<void> {
    const until = performance.now() + ms;
    while (!this.#signal.aborted && performance.now() < until) {
      if (this.#dirty.size > 0 && this.#progress) {
        const keys = [...this.#dirty];
        this.#dirty.clear();
        const call = { signal: this.#signal, deadline: Date.now() + LOOK_LIMIT_MS };
        // The next comparison reads keys that cannot be read at the moment.
        await this.#report(keys, call).catch(() => this.#startOver());
      } else {
        await this.#awakened(until - performance.now());
      }
    }
  }

  #awakened(ms: number): Promise<void> {
    return new Promise((resolve) => {
      const done = () => {
        clearTimeout(timer);
        this.#signal.removeEventListener('abort', done);
        resolve();
      };
      const timer = setTimeout(done, ms);
      this.#wake = done;
      this.#signal.addEventListener('abort', done, { once: true });
    });
  }

  #onHint(hint: RecordHint): void {
    if (!this.#progress) {
      this.#early.push(hint);
      return;
    }
    const { bucket, revision, name, record } = hint;
    const progress = this.#progress[bucket]!;
    if (revision <= progress.upTo) return;
    account(progress, revision);
    if (!this.#concerns(name)) return;
    if (record === undefined) {
      this.#dirty.add(name.key);
      this.#wake();
    } else if (!this.#isOld(name.key, revision)) {
      const expiresAt = record?.ttlMs ? Date.now() + record.ttlMs : null;
      this.#known.set(name.key, { revision, expiresAt, removed: record === null });
      this.#queue.push({ key: name.key, type: record ? 'put' : 'delete', record });
    }
  }

  #concerns({ space, tenantId, key }: RecordName): boolean {
    const target = this.#target;
    return space === target.space && tenantId === target.tenantId && key.startsWith(target.prefix);
  }

  /** Compares the buckets with missed hints, and checks records that should have expired. */
  async #look(call: EngineCall): Promise<void> {
    const { commands, layout } = this.#parts;
    const counters = await Promise.all(
      Array.from({ length: layout.buckets }, async (_, bucket) =>
        Number((await commands.read(bucket, ['GET', layout.shared(bucket, 'revision')], call)) ?? 0),
      ),
    );
    if (!this.#progress) {
      await Promise.all(counters.map((counter, bucket) => this.#learn(bucket, counter, call)));
      this.#progress = counters.map((counter) => ({ upTo: counter, reported: new Set(), counter }));
      for (const hint of this.#early.splice(0)) this.#onHint(hint);
    }
    const all = this.#progress;
    await Promise.all(
      counters.map(async (counter, bucket) => {
        const progress = all[bucket]!;
        if (progress.upTo < progress.counter) await this.#compare(bucket, progress, counter, call);
        progress.counter = counter;
      }),
    );
    for (const [key, { removed, revision }] of this.#known)
      if (removed && revision <= all[this.#bucketOf(key)]!.upTo) this.#known.delete(key);
    const expired = [...this.#known].filter(([, { expiresAt, removed }]) => !removed && isPast(expiresAt));
    if (expired.length > 0)
      await this.#report(
        expired.map(([key]) => key),
        call,
      );
  }

  /**
   * Records the existing keys of a bucket. The comparison that follows reports changes since the start of the watch.
   */
  async #learn(bucket: number, counter: number, call: EngineCall): Promise<void> {
    for await (const { key, revision, expiresAt } of this.#revisions(bucket, call)) {
      if (revision <= counter) this.#known.set(key, { revision, expiresAt, removed: false });
      else this.#dirty.add(key);
    }
  }

  async #compare(bucket: number, progress: Progress, counter: number, call: EngineCall): Promise<void> {
    const before = [...this.#known].filter(([key, { removed }]) => !removed && this.#bucketOf(key) === bucket);
    const there = new Set<string>();
    const changed: string[] = [];
    for await (const { key, revision } of this.#revisions(bucket, call)) {
      there.add(key);
      if (!this.#isOld(key, revision)) changed.push(key);
    }
    const vanished = before.filter(([key, known]) => !there.has(key) && this.#known.get(key) === known);
    await this.#report([...changed, ...vanished.map(([key]) => key)], call);
    progress.upTo = Math.max(progress.upTo, counter);
    for (const revision of progress.reported) if (revision <= progress.upTo) progress.reported.delete(revision);
  }

  /** Yields the live keys of the prefix in a bucket, with their revisions. */
  async *#revisions(bucket: number, call: EngineCall) {
    const { commands, layout } = this.#parts;
    const { space, tenantId, prefix } = this.#target;
    const index = layout.names(bucket, space, tenantId);
    for (let after: string | null = null; ; ) {
      const members = await readLexical(commands, bucket, index, prefixRange(prefix, after), NAMES_AT_ONCE, call);
      const keys = members.map((member) => member.toString());
      const metas = await Promise.all(
        keys.map((key) => commands.read(bucket, ['HGET', layout.record({ space, tenantId, key }), META], call)),
      );
      for (const [at, key] of keys.entries()) {
        if (metas[at]) yield { key, ...parseMeta(metas[at] as Buffer) };
      }
      if (members.length < NAMES_AT_ONCE) return;
      after = keys.at(-1)!;
    }
  }

  /** Reads keys that have changed or disappeared, and reports new states. */
  async #report(keys: readonly string[], call: EngineCall): Promise<void> {
    if (keys.length === 0) return;
    const { space, tenantId } = this.#target;
    const before = keys.map((key) => this.#known.get(key));
    const names = keys.map((key) => ({ space, tenantId, key }));
    const records = await this.#parts.records.get(names, call).catch((error) => this.#readEach(names, error, call));
    for (const [at, key] of keys.entries()) {
      const [record, known] = [records[at], before[at]];
      // A hint arrived during the read, so there is nothing new to report.
      if (this.#known.get(key) !== known || record === undefined) continue;
      if (record && !this.#isOld(key, record.revision)) {
        const expiresAt = record.ttlMs === null ? null : Date.now() + record.ttlMs;
        this.#known.set(key, { revision: record.revision, expiresAt, removed: false });
        this.#queue.push({ key, type: 'put', record });
      } else if (!record && known && !known.removed) {
        this.#known.delete(key);
        this.#queue.push({ key, type: isPast(known.expiresAt) ? 'expire' : 'delete', record: null });
      }
    }
  }

  /** A damaged record must not end the watch. It is reported as `undefined`, and skipped until it is written again. */
  async #readEach(
    names: readonly RecordName[],
    error: unknown,
    call: EngineCall,
  ): Promise<(StoredRecord | null | undefined)[]> {
    if (!isTidemarkError(error, 'CORRUPT_VALUE')) throw error;
    const damage = new Damage();
    const records: (StoredRecord | null | undefined)[] = [];
    for (const name of names)
      records.push(...(await this.#parts.records.get([name], call).catch((error) => [damage.note(error)])));
    return records;
  }

  /** Resets the progress of all buckets, so that the next comparison covers them all. */
  #startOver(): void {
    for (const progress of this.#progress ?? []) Object.assign(progress, { upTo: 0, counter: Number.MAX_SAFE_INTEGER });
  }

  #isOld(key: string, revision: number): boolean {
    return revision <= (this.#known.get(key)?.revision ?? 0);
  }

  #bucketOf(key: string): number {
    const { space, tenantId } = this.#target;
    return this.#parts.layout.bucketOfRecord({ space, tenantId, key });
  }
}

function account(progress: Progress, revision: number): void {
  progress.reported.add(revision);
  while (progress.reported.delete(progress.upTo + 1)) progress.upTo++;
}

/**
 * Uses this process's clock. The result only decides when to read the record, and whether a missing key is reported as
 * expired.
 */
function isPast(expiresAt: number | null): boolean {
  return expiresAt !== null && expiresAt <= Date.now();
}
