/**
 * A watcher of records. Changes of this process are pushed as they commit. Changes of other processes, and expiries,
 * are found by comparing revisions. The latest state of every changed key is reported; intermediate states may be
 * skipped.
 */

import { isTidemarkError } from '@tidemark/core';
import {
  ChangeQueue,
  Damage,
  type EngineCall,
  inParts,
  type RecordChange,
  type RecordName,
  type Records,
  type StoredRecord,
  sleep,
} from '@tidemark/core/engine';
import type { SqlDatabase, SqlSignals } from '../database.ts';
import { keyRange } from '../ranges.ts';
import { integerOf, integerOrNull, type SqlInteger } from '../values.ts';
import type { MadeChange } from './step.ts';

/** How often a watcher compares revisions unless it is woken earlier. */
const LOOK_EVERY_MS = 200;
const LOOK_LIMIT_MS = 5_000;
/** By this time every write has been committed or abandoned. */
const MAX_WRITE_MS = 15_000;
/** After a long comparison, the watcher sleeps for this multiple of the comparison's duration. */
const REST_FACTOR = 4;
const REVISIONS_AT_ONCE = 1_000;
const RECORDS_AT_ONCE = 100;

/** The topic that wakes watchers. */
const TOPIC = 'kv';

/** The last known state of a key. A removal by this process stays until a comparison has covered it. */
interface Known {
  revision: number;
  expiresAt: number | null;
  removed: boolean;
}

type KeyRevisions = ReadonlyMap<string, { revision: number; expiresAt: number | null }>;

export class RecordWatcher {
  readonly #db: SqlDatabase;
  readonly #records: Pick<Records, 'get'>;
  readonly #target: { tenantId: string; prefix: string };
  readonly #ended = new AbortController();
  readonly #signal: AbortSignal;
  readonly #queue: ChangeQueue;
  readonly #known = new Map<string, Known>();
  /** The revision up to which everything was compared; `null` before the first comparison. */
  #comparedUpTo: number | null = null;
  /** The revisions above `#comparedUpTo` that belong to changes by this process, to any key. */
  #ours: number[] = [];
  #unsettledUntil = 0;
  #failure: unknown;

  constructor(
    db: SqlDatabase,
    records: Pick<Records, 'get'>,
    target: { tenantId: string; prefix: string },
    signals: Pick<SqlSignals, 'wait'>,
    signal: AbortSignal,
  ) {
    this.#db = db;
    this.#records = records;
    this.#target = target;
    this.#signal = AbortSignal.any([signal, this.#ended.signal]);
    this.#queue = new ChangeQueue(this.#signal);
    // The first comparison starts now, and changes are reported from this moment onwards.
    void this.#run(signals);
  }

  /** Aborts when there are no more listeners. */
  get signal(): AbortSignal {
    return this.#signal;
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

  /** Reports a change that this process has committed. */
  push({ tenantId, key, type, record, revision, expiresAt }: MadeChange): void {
    this.#ours.push(revision);
    if (tenantId !== this.#target.tenantId || !key.startsWith(this.#target.prefix)) return;
    if (this.#isOld(key, revision)) return;
    this.#known.set(key, { revision, expiresAt, removed: record === null });
    this.#queue.push({ key, type, record });
  }

  async #run(signals: Pick<SqlSignals, 'wait'>): Promise<void> {
    while (!this.#signal.aborted) {
      const began = performance.now();
      try {
        await this.#look({ signal: this.#signal, deadline: Date.now() + LOOK_LIMIT_MS });
      } catch (error) {
        if (!isTidemarkError(error) || !error.retryable) this.#fail(error);
      }
      const rest = REST_FACTOR * (performance.now() - began);
      await signals.wait(TOPIC, { signal: this.#signal, deadline: Date.now() + LOOK_EVERY_MS });
      if (rest > LOOK_EVERY_MS) await sleep(rest, this.#signal);
    }
  }

  #fail(error: unknown): void {
    if (!this.#signal.aborted) this.#failure = error;
    this.#ended.abort();
  }

  async #look(call: EngineCall): Promise<void> {
    const { latest } = this.#db.revisions;
    const [row] = await this.#db.read<{ revision: SqlInteger; now: SqlInteger }>(latest, [], call);
    const [newest, now] = [integerOf(row!.revision), integerOf(row!.now)];
    if (
      this.#comparedUpTo === null ||
      this.#othersHaveWritten(this.#comparedUpTo, newest) ||
      this.#somethingExpired(now)
    ) {
      await this.#compare(newest, now, call);
    }
    this.#comparedUpTo = newest;
    this.#ours = this.#ours.filter((revision) => revision > newest);
  }

  /**
   * Whether other processes have written. Every change has its own revision, so a revision that is not ours belongs to
   * another process.
   */
  #othersHaveWritten(from: number, to: number): boolean {
    // An issued revision belongs to a change that may be committed at any moment, or never.
    if (!this.#db.revisions.committedInOrder) {
      if (to > from) this.#unsettledUntil = performance.now() + MAX_WRITE_MS;
      return performance.now() < this.#unsettledUntil;
    }
    return this.#ours.filter((revision) => revision > from && revision <= to).length < to - from;
  }

  #somethingExpired(now: number): boolean {
    for (const { expiresAt } of this.#known.values()) if (expiresAt !== null && expiresAt <= now) return true;
    return false;
  }

  async #compare(newest: number, now: number, call: EngineCall): Promise<void> {
    const known = new Map(this.#known);
    const there = await this.#readRevisions(now, call);
    this.#reportVanished(known, there, now);
    const changed: string[] = [];
    for (const [key, { revision, expiresAt }] of there) {
      if (this.#isOld(key, revision)) continue;
      // Records that existed before the watch are not changes.
      if (this.#comparedUpTo === null && revision <= newest)
        this.#known.set(key, { revision, expiresAt, removed: false });
      else changed.push(key);
    }
    for (const some of inParts(changed, RECORDS_AT_ONCE)) await this.#reportChanged(some, there, call);
  }

  /** Returns the live keys of the prefix with their revisions. */
  async #readRevisions(now: number, call: EngineCall): Promise<KeyRevisions> {
    const there = new Map<string, { revision: number; expiresAt: number | null }>();
    for (let after: string | null = null; ; ) {
      const range = keyRange('key', this.#target.prefix, after);
      const rows: { key: string; revision: SqlInteger; expires_at: SqlInteger | null }[] = await this.#db.read(
        `SELECT key, revision, expires_at
           FROM @kv_records
          WHERE tenant_id = ? AND ${range.sql}
          ORDER BY key
          LIMIT ${REVISIONS_AT_ONCE}`,
        [this.#target.tenantId, ...range.params],
        call,
      );
      for (const row of rows) {
        const expiresAt = integerOrNull(row.expires_at);
        if (expiresAt === null || expiresAt > now) there.set(row.key, { revision: integerOf(row.revision), expiresAt });
      }
      if (rows.length < REVISIONS_AT_ONCE) return there;
      after = rows.at(-1)!.key;
    }
  }

  #reportVanished(known: ReadonlyMap<string, Known>, there: KeyRevisions, now: number): void {
    for (const [key, before] of known) {
      // Keys that were pushed while the revisions were being read may be missing from the result.
      if (there.has(key) || this.#known.get(key) !== before) continue;
      this.#known.delete(key);
      const { expiresAt, removed } = before;
      const expired = expiresAt !== null && expiresAt <= now;
      if (!removed) this.#queue.push({ key, type: expired ? 'expire' : 'delete', record: null });
    }
  }

  async #reportChanged(keys: readonly string[], there: KeyRevisions, call: EngineCall): Promise<void> {
    const names = keys.map((key) => ({ space: 'kv', tenantId: this.#target.tenantId, key }) as const);
    const records = await this.#records.get(names, call).catch((error) => this.#readEach(names, error, call));
    for (const [at, key] of keys.entries()) {
      const record = records[at];
      // Removed again, or pushed during the read, so there is nothing new to report.
      if (!record || this.#isOld(key, record.revision)) continue;
      this.#known.set(key, { revision: record.revision, expiresAt: there.get(key)!.expiresAt, removed: false });
      this.#queue.push({ key, type: 'put', record });
    }
  }

  /**
   * Reads the records one by one. A damaged record must not end the watch, so it is skipped until it is written again.
   */
  async #readEach(names: readonly RecordName[], error: unknown, call: EngineCall): Promise<(StoredRecord | null)[]> {
    if (!isTidemarkError(error, 'CORRUPT_VALUE')) throw error;
    const damage = new Damage();
    const records: (StoredRecord | null)[] = [];
    for (const name of names) {
      const [record] = await this.#records.get([name], call).catch((error) => [damage.note(error)]);
      records.push(record ?? null);
    }
    return records;
  }

  #isOld(key: string, revision: number): boolean {
    return revision <= (this.#known.get(key)?.revision ?? 0);
  }
}
