/**
 * Append-only logs of adapters. A log is a run, and a KV record of the adapter names the run that currently holds the
 * log. A deleted log can therefore start again in another run, and a late write to the old run fails instead of
 * reaching the new log.
 */
import type { JsonObject } from '../contracts/common.ts';
import { isTidemarkError } from '../contracts/errors.ts';
import type { KvRecord } from '../contracts/kv.ts';
import { NAME_LABEL, OWNER_LABEL } from '../contracts/owners.ts';
import type { AppendOptions, AppendResult } from '../contracts/run-appends.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { Store } from '../contracts/store.ts';
import { textOf } from '../kv/values.ts';
import { replay } from '../wrappers/replay.ts';

/** An event of a log. */
export interface OwnedEvent {
  eventType: string;
  payload: JsonObject;
  /** A second event with the same key is not stored. Default: every event is stored. */
  idempotencyKey?: string;
}

/** A log: the key of its record, and its display name. */
export interface OwnedLog {
  key: string;
  name: string;
  /** Further labels of its runs. */
  labels?: Record<string, string>;
  /** Further fields of its record, written when the log begins. */
  fields?: Record<string, string>;
}

/** The position that a writer has read. The append fails if the log has changed since. */
export interface LogFence {
  /** The run that held the log, or `null` if there was no log. */
  runId: string | null;
  /** The last sequence of that run. */
  seq: number;
}

/** The result of an append. */
export interface LogAppended {
  runId: string;
  /** One result per event. */
  results: AppendResult[];
  /** True if the log was deleted while these events were being stored. The events are gone. */
  isRemoved: boolean;
}

/** The field of a log's record that names its run. */
export const RUN_FIELD = 'run';
/**
 * The field of a log's record that is set once its run has events. Only a run with events can be deleted permanently.
 * Until then, this record determines whether a deletion or the first append came first.
 */
const BEGUN_FIELD = 'begun';
const MAX_NAME_BYTES = 200;
const EVENTS_AT_ONCE = 500;

/** Finds, appends to and deletes the logs of one adapter. */
export class OwnedLogs {
  readonly #store: Store;
  readonly #adapter: string;

  constructor(store: Store, adapter: string) {
    this.#store = store;
    this.#adapter = adapter;
  }

  /** Returns the id of the run that holds a log, or `null` if there is no log. */
  async find(key: string): Promise<string | null> {
    const bytes = await this.#store.kv.getField(key, RUN_FIELD);
    return bytes === null ? null : textOf(bytes)!;
  }

  /**
   * Appends groups of events and begins the log if there is none. The events of a group are stored together or not at
   * all.
   */
  async append(log: OwnedLog, groups: readonly (readonly OwnedEvent[])[], known?: string): Promise<LogAppended> {
    let run: LogRun = known === undefined ? await this.#begin(log) : { runId: known, isBegun: true };
    const results: AppendResult[] = [];
    for (const events of together(groups)) {
      for (;;) {
        try {
          results.push(...(await this.#appendTo(run.runId, log, events)));
          break;
        } catch (error) {
          if (!isTidemarkError(error, 'RUN_DELETED')) throw error;
          await this.#forget(log.key, run.runId);
          run = await this.#begin(log);
        }
      }
    }
    return { runId: run.runId, results, isRemoved: !(await this.#confirm(log.key, run)) };
  }

  /**
   * Appends events if the log has not changed since it was read. Returns `null` if it has changed or was deleted. An
   * event whose idempotency key is already stored succeeds even if the log has changed.
   */
  async appendFenced(log: OwnedLog, events: readonly OwnedEvent[], fence: LogFence): Promise<LogAppended | null> {
    const run = await this.#begin(log);
    const { runId } = run;
    if (fence.runId !== null && fence.runId !== runId) return null;
    try {
      const results = await this.#appendTo(runId, log, events, fence.seq);
      return { runId, results, isRemoved: !(await this.#confirm(log.key, run)) };
    } catch (error) {
      if (isTidemarkError(error, 'SEQ_CONFLICT')) return null;
      if (!isTidemarkError(error, 'RUN_DELETED')) throw error;
      await this.#forget(log.key, runId);
      return null;
    }
  }

  /** Deletes a log with its record, and returns whether it had events. It may start again at any time. */
  async remove(key: string): Promise<boolean> {
    for (;;) {
      const record = await this.#store.kv.get(key);
      const runId = record === null ? null : runOf(record);
      if (record === null || runId === null) return false;
      if (!isBegun(record)) {
        if (!(await this.#deleteRecord(key, record))) continue;
        // A writer that was killed after its first append has left events behind.
        return this.#store.runs.deleteRun(runId);
      }
      // Delete the run first: a crash between the two steps then leaves a record that the next writer replaces, and not
      // events without a record.
      await this.#store.runs.deleteRun(runId);
      await this.#forget(key, runId);
      return true;
    }
  }

  async #begin(log: OwnedLog): Promise<LogRun> {
    const found = await this.#store.kv.get(log.key);
    const before = found === null ? null : runOf(found);
    if (found !== null && before !== null) return { runId: before, isBegun: isBegun(found) };
    const runId = newRunId(this.#adapter);
    const { swapped, record } = await this.#store.kv.swap(log.key, {
      expected: { [RUN_FIELD]: null },
      set: { ...log.fields, [RUN_FIELD]: runId },
    });
    return swapped ? { runId, isBegun: false } : { runId: runOf(record!)!, isBegun: isBegun(record!) };
  }

  /**
   * Marks a run as begun after its first append. Returns false if the log was deleted in between. No record refers to
   * the run then, so the run is deleted too.
   */
  async #confirm(key: string, { runId, isBegun: isKnown }: LogRun): Promise<boolean> {
    if (isKnown) return true;
    const change = { expected: { [RUN_FIELD]: runId }, set: { [BEGUN_FIELD]: 1 } };
    if ((await this.#store.kv.swap(key, change)).swapped) return true;
    await this.#store.runs.deleteRun(runId);
    return false;
  }

  /** Deletes the record of a log unless it names another run. */
  async #forget(key: string, runId: string): Promise<void> {
    for (;;) {
      const record = await this.#store.kv.get(key);
      if (record === null || runOf(record) !== runId || (await this.#deleteRecord(key, record))) return;
    }
  }

  async #deleteRecord(key: string, { fields, revision }: KvRecord): Promise<boolean> {
    const set = Object.fromEntries(Object.keys(fields).map((name) => [name, null]));
    return (await this.#store.kv.swap(key, { expectedRevision: revision, set })).swapped;
  }

  async #appendTo(
    runId: string,
    { name, labels }: OwnedLog,
    events: readonly OwnedEvent[],
    expectedSeq?: number,
  ): Promise<AppendResult[]> {
    const shared = {
      runId,
      planId: this.#adapter,
      labels: { [OWNER_LABEL]: this.#adapter, [NAME_LABEL]: shortName(name), ...labels },
    };
    const inputs: RunEventInput[] = events.map((event) => ({ ...shared, ...event }));
    return appendOnce(this.#store, inputs, expectedSeq === undefined ? {} : { expectedSeq });
  }
}

/** Appends events, and sends the same events again if it is unknown whether they were stored. */
export async function appendOnce(
  store: Store,
  events: readonly RunEventInput[],
  options: AppendOptions = {},
): Promise<AppendResult[]> {
  try {
    return await store.runs.appendEvents(events, options);
  } catch (error) {
    if (!isTidemarkError(error, 'OUTCOME_UNKNOWN') || error.write === undefined) throw error;
    return (await replay(store, error.write)) as AppendResult[];
  }
}

/** The run that holds a log, and whether its record states that the run has events. */
interface LogRun {
  runId: string;
  isBegun: boolean;
}

function isBegun(record: KvRecord): boolean {
  return record.fields[BEGUN_FIELD] !== undefined;
}

/** Returns the run that the record of a log names. */
export function runOf(record: KvRecord): string | null {
  return textOf(record.fields[RUN_FIELD]) ?? null;
}

function newRunId(adapter: string): string {
  return `tidemark.${adapter}.${crypto.randomUUID()}`;
}

/** Joins groups into appends, without splitting a group. */
function* together(groups: readonly (readonly OwnedEvent[])[]): Iterable<OwnedEvent[]> {
  let events: OwnedEvent[] = [];
  for (const group of groups) {
    if (events.length > 0 && events.length + group.length > EVENTS_AT_ONCE) {
      yield events;
      events = [];
    }
    events.push(...group);
  }
  if (events.length > 0) yield events;
}

/** Returns the name as a label: well-formed, without NUL, and of limited length. */
function shortName(name: string): string {
  const clean = name.toWellFormed().replaceAll('\0', '\uFFFD');
  const bytes = Buffer.from(clean, 'utf8');
  if (bytes.length <= MAX_NAME_BYTES) return clean === '' ? '-' : clean;
  return `${bytes
    .subarray(0, MAX_NAME_BYTES)
    .toString('utf8')
    .replace(/\uFFFD+$/, '')}…`;
}
