/** Encodes a group of appends for the append statement, and decodes its result to the outcome of each append. */

import { RUN_STATUSES, type RunStatus } from '@tidemark/core';
import {
  type Digest,
  eventOfRow,
  isRunType,
  nextRunStatus,
  OWN_FIELDS,
  ownValuesOf,
  type PreparedEvent,
  type RunAppend,
  rollOf,
  type SequencedEvent,
  type StoredRunEvent,
} from '@tidemark/core/engine';
import { columnOf, EVENT_COLUMNS } from '@tidemark/sql';
import { EVENT_PARAMETERS, RUN_PARAMETERS } from './append-sql.ts';
import { BinaryArray } from './binary-arrays.ts';

const PARAMETERS = [...EVENT_PARAMETERS, ...RUN_PARAMETERS].map(([, type]) => type);

const OWN_FROM = EVENT_PARAMETERS.findIndex(([name]) => name === columnOf(OWN_FIELDS[0]));
const LEAF_FROM = OWN_FROM + OWN_FIELDS.length;

/** The appends of a group to the same run. */
interface RunGroup {
  appends: RunAppend[];
  /** The first event of each key in this group, in order. Later events with the same key are duplicates. */
  events: PreparedEvent[];
  /** The keys of these events; `null` while there is only one event. */
  keys: Set<string> | null;
  /**
   * Whether the events name several projects or environments. If so, some of them must be refused, which only the exact
   * append can do.
   */
  mixed: boolean;
}

/** The outcome of an append: its placed events, or `left` for the exact append. */
export type GroupOutcome = SequencedEvent[] | 'left';

/** A result row as an array: run_no, and either before_seq and updated_at or the columns of a stored event. */
export type AnswerRow = readonly unknown[];

export class AppendGroup {
  readonly #runs: RunGroup[] = [];
  readonly #appends: readonly RunAppend[];

  constructor(appends: readonly RunAppend[]) {
    this.#appends = appends;
    const byRun = new Map<string, RunGroup>();
    for (const append of appends) {
      const key = `${append.run.tenantId}\0${append.run.runId}`;
      let group = byRun.get(key);
      if (!group) {
        group = { appends: [], events: [], keys: null, mixed: false };
        byRun.set(key, group);
        this.#runs.push(group);
      }
      addAppend(group, append);
    }
  }

  /** All tenants of the group. */
  get tenants(): string[] {
    return [...new Set(this.#appends.map((append) => append.run.tenantId))];
  }

  /** Whether an event of the group may change the status of its run. */
  get changesStatus(): boolean {
    return this.#appends.some((append) => append.events.some((event) => isRunType(event.eventType)));
  }

  /** The parameters of the append statement. */
  parameters(): Buffer[] {
    const columns = PARAMETERS.map((type) => new BinaryArray(type));
    for (const [runNo, group] of this.#runs.entries()) {
      if (group.mixed) continue;
      let roll: Digest | null = null;
      for (const [at, event] of group.events.entries()) {
        roll = rollOf(roll, event.leaf);
        const { run } = group.appends[0]!;
        push(columns, 0, [runNo, at + 1, group.events.length, run.tenantId, run.runId]);
        push(columns, OWN_FROM, ownValuesOf(event));
        push(columns, LEAF_FROM, [event.leaf, roll]);
      }
      const [first] = group.appends;
      const { projectId, environmentId } = group.events[0]!;
      push(columns, EVENT_PARAMETERS.length, [
        runNo,
        projectId,
        environmentId,
        statusesAfter(group.events),
        JSON.stringify(first!.labels),
        first!.parentRunId,
      ]);
    }
    return columns.map((column) => column.finish());
  }

  /** Returns the outcome of each append. */
  outcomes(answer: readonly AnswerRow[]): GroupOutcome[] {
    const written = new Map<number, { before: number; at: number }>();
    const stored = new Map<number, Map<string, StoredRunEvent>>();
    for (const row of answer) {
      const runNo = row[0] as number;
      if (row[1] !== null) written.set(runNo, { before: row[1] as number, at: row[2] as number });
      else keep(stored, runNo, storedOf(row[3] as (string | null)[]));
    }
    const outcomes = new Map<RunAppend, GroupOutcome>();
    for (const [runNo, group] of this.#runs.entries()) {
      if (group.appends.length === 1 && group.appends[0]!.events.length === 1) {
        outcomes.set(group.appends[0]!, placedAlone(group.events[0]!, written.get(runNo), stored.get(runNo)));
        continue;
      }
      const positions = keyPositions(group, written.get(runNo), stored.get(runNo));
      for (const append of group.appends) outcomes.set(append, placedBy(append, positions));
    }
    return this.#appends.map((append) => outcomes.get(append)!);
  }
}

function addAppend(group: RunGroup, append: RunAppend): void {
  group.appends.push(append);
  for (const event of append.events) {
    const [first] = group.events;
    if (first) {
      group.keys ??= new Set([first.idempotencyKey]);
      if (group.keys.has(event.idempotencyKey)) continue;
      group.keys.add(event.idempotencyKey);
      if (event.projectId !== first.projectId || event.environmentId !== first.environmentId) group.mixed = true;
    }
    group.events.push(event);
  }
}

function push(columns: readonly BinaryArray[], from: number, values: readonly (string | number | null)[]): void {
  for (let at = 0; at < values.length; at++) columns[from + at]!.push(values[at]!);
}

/**
 * Returns the status of a run after the events, for each status that it may have had before: no status first, then in
 * the order of `RUN_STATUSES`. Returns an empty text if no event can change the status.
 */
function statusesAfter(events: readonly PreparedEvent[]): string {
  if (!events.some((event) => isRunType(event.eventType))) return '';
  const statuses = [null, ...RUN_STATUSES];
  const after = statuses.map((before) =>
    events.reduce((status, event) => nextRunStatus(status, event.eventType), before as RunStatus | null),
  );
  return after.every((status, at) => status === statuses[at]) ? '' : after.map((status) => status ?? '').join(',');
}

function keep(stored: Map<number, Map<string, StoredRunEvent>>, runNo: number, event: StoredRunEvent): void {
  const ofRun = stored.get(runNo) ?? new Map<string, StoredRunEvent>();
  stored.set(runNo, ofRun.set(event.idempotencyKey, event));
}

/** The position of a key: stored before, or written now for the first event that carries it. */
type KeyPosition = StoredRunEvent | { first: PreparedEvent; runSeq: number; persistedAt: number; commitIndex: number };

/**
 * Returns the outcome of an append whose event is the only one of its run in the group. This is the most frequent case.
 */
function placedAlone(
  event: PreparedEvent,
  written: { before: number; at: number } | undefined,
  stored: ReadonlyMap<string, StoredRunEvent> | undefined,
): GroupOutcome {
  const known = stored?.get(event.idempotencyKey);
  if (known) return [{ runSeq: known.runSeq, persistedAt: known.persistedAt, duplicateOf: known }];
  return written ? [{ runSeq: written.before + 1, persistedAt: written.at, duplicateOf: null }] : 'left';
}

/** Returns the position of each key of a run. New events were written in order. */
function keyPositions(
  group: RunGroup,
  written: { before: number; at: number } | undefined,
  stored: ReadonlyMap<string, StoredRunEvent> | undefined,
): Map<string, KeyPosition> {
  const positions = new Map<string, KeyPosition>();
  let commitIndex = 0;
  for (const event of group.events) {
    const known = stored?.get(event.idempotencyKey);
    if (known) positions.set(event.idempotencyKey, known);
    else if (written) {
      commitIndex++;
      const runSeq = written.before + commitIndex;
      positions.set(event.idempotencyKey, { first: event, runSeq, persistedAt: written.at, commitIndex });
    }
  }
  return positions;
}

/** Returns the placed events of an append, or `left` when one of them was not stored. */
function placedBy(append: RunAppend, positions: ReadonlyMap<string, KeyPosition>): GroupOutcome {
  const placed: SequencedEvent[] = [];
  for (const event of append.events) {
    const position = positions.get(event.idempotencyKey);
    if (!position) return 'left';
    const { runSeq, persistedAt } = position;
    placed.push({ runSeq, persistedAt, duplicateOf: duplicateOf(event, position) });
  }
  return placed;
}

/** Returns the stored event that this one duplicates, or `null` when it is the stored event itself. */
function duplicateOf(event: PreparedEvent, position: KeyPosition): StoredRunEvent | null {
  if (!('first' in position)) return position;
  if (position.first === event) return null;
  const { leaf, ...body } = position.first;
  const { runSeq, persistedAt, commitIndex } = position;
  return { ...body, runSeq, persistedAt, commitIndex, link: leaf };
}

const LINK = EVENT_COLUMNS.indexOf('link');

/** Decodes a stored event of the result: every column as text, its link in hex. */
function storedOf(columns: readonly (string | null)[]): StoredRunEvent {
  return eventOfRow([...columns.slice(0, LINK), Buffer.from(columns[LINK]!, 'hex'), ...columns.slice(LINK + 1)]);
}
