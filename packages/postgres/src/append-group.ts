/** Encodes a group of appends for the append statement, and decodes its result to the outcome of each append. */

import { RUN_STATUSES, type RunStatus } from '@tidemark/core';
import {
  type Digest,
  eventOfRow,
  isRunType,
  nextRunStatus,
  OWN_FIELDS,
  type PreparedEvent,
  type RunAppend,
  rollOf,
  type SequencedEvent,
  type StoredRunEvent,
} from '@tidemark/core/engine';
import { columnOf, EVENT_COLUMNS, integerOf } from '@tidemark/sql';
import { EVENT_PARAMETERS, RUN_PARAMETERS } from './append-sql.ts';
import { type BinaryArray, ColumnSets } from './binary-arrays.ts';

const PARAMETERS = [...EVENT_PARAMETERS, ...RUN_PARAMETERS].map(([, type]) => type);

const OWN_FROM = EVENT_PARAMETERS.findIndex(([name]) => name === columnOf(OWN_FIELDS[0]));
const LEAF_FROM = OWN_FROM + OWN_FIELDS.length;
const RUN_FROM = EVENT_PARAMETERS.length;

/** The columns of the append statement. */
export const appendColumns = new ColumnSets(PARAMETERS);

/** The appends of a group to the same run. */
interface RunGroup {
  appends: RunAppend[];
  /** Where the appends are in the group. */
  indexes: number[];
  /** The first event of each key in this group, in order. Later events with the same key are duplicates. */
  events: PreparedEvent[];
  /** The keys of these events; `null` while there is only one event. */
  keys: Set<string> | null;
  /**
   * Whether the events name several projects or environments. If so, some of them must be rejected, which only the
   * exact append can do.
   */
  mixed: boolean;
}

/** The outcome of an append: its placed events, or `left` for the exact append. */
export type GroupOutcome = SequencedEvent[] | 'left';

/**
 * A result row: the runs that were written, as `run_no before_seq updated_at` with commas between them, or the number of
 * a run and the columns of a stored event.
 */
export type AnswerRow = readonly unknown[];

/** The sequence before the events of a run, and the time of their commit. */
interface Written {
  before: number;
  at: number;
}

export class AppendGroup {
  readonly #runs: RunGroup[] = [];
  readonly #appends: readonly RunAppend[];

  constructor(appends: readonly RunAppend[]) {
    this.#appends = appends;
    const byTenant = new Map<string, Map<string, RunGroup>>();
    for (const [index, append] of appends.entries()) {
      const { tenantId, runId } = append.run;
      let byRun = byTenant.get(tenantId);
      if (!byRun) {
        byRun = new Map();
        byTenant.set(tenantId, byRun);
      }
      let group = byRun.get(runId);
      if (!group) {
        // Literals of one item take a tenth of the memory of empty arrays that grow.
        group = { appends: [append], indexes: [index], events: [append.events[0]!], keys: null, mixed: false };
        byRun.set(runId, group);
        this.#runs.push(group);
        if (append.events.length > 1) addEvents(group, append.events);
        continue;
      }
      group.appends.push(append);
      group.indexes.push(index);
      addEvents(group, append.events);
    }
  }

  /** All tenants of the group. */
  get tenants(): string[] {
    const tenants = new Set<string>();
    for (const { run } of this.#appends) tenants.add(run.tenantId);
    return [...tenants];
  }

  /** Whether an event of the group may change the status of its run. */
  get changesStatus(): boolean {
    return this.#appends.some((append) => append.events.some((event) => isRunType(event.eventType)));
  }

  /** Writes the parameters of the append statement to its columns. */
  encode(columns: readonly BinaryArray[]): void {
    for (const [runNo, group] of this.#runs.entries()) {
      if (group.mixed) continue;
      const { run, labels, parentRunId } = group.appends[0]!;
      let roll: Digest | null = null;
      for (const [at, event] of group.events.entries()) {
        roll = rollOf(roll, event.leaf);
        columns[0]!.push(runNo);
        columns[1]!.push(at + 1);
        columns[2]!.push(group.events.length);
        columns[3]!.push(run.tenantId);
        columns[4]!.push(run.runId);
        for (let field = 0; field < OWN_FIELDS.length; field++)
          columns[OWN_FROM + field]!.push(event[OWN_FIELDS[field]!]);
        columns[LEAF_FROM]!.push(event.leaf);
        columns[LEAF_FROM + 1]!.push(at === 0 ? null : roll);
      }
      const { projectId, environmentId } = group.events[0]!;
      columns[RUN_FROM]!.push(runNo);
      columns[RUN_FROM + 1]!.push(projectId);
      columns[RUN_FROM + 2]!.push(environmentId);
      columns[RUN_FROM + 3]!.push(statusesAfter(group.events));
      columns[RUN_FROM + 4]!.push(JSON.stringify(labels));
      columns[RUN_FROM + 5]!.push(parentRunId);
    }
  }

  /** Returns the outcome of each append. */
  outcomes(answer: readonly AnswerRow[]): GroupOutcome[] {
    const written = new Map<number, Written>();
    const stored = new Map<number, Map<string, StoredRunEvent>>();
    for (const row of answer) {
      if (row[0] !== null) readWritten(row[0] as string, written);
      else if (row[1] !== null) keep(stored, row[1] as number, storedOf(row[2] as (string | null)[]));
    }
    const outcomes: GroupOutcome[] = new Array(this.#appends.length);
    for (const [runNo, group] of this.#runs.entries()) {
      if (group.appends.length === 1 && group.events.length === 1 && group.appends[0]!.events.length === 1) {
        outcomes[group.indexes[0]!] = placedAlone(group.events[0]!, written.get(runNo), stored.get(runNo));
        continue;
      }
      const positions = keyPositions(group, written.get(runNo), stored.get(runNo));
      for (const [at, append] of group.appends.entries()) outcomes[group.indexes[at]!] = placedBy(append, positions);
    }
    return outcomes;
  }
}

/** Reads the runs that were written. */
function readWritten(text: string, written: Map<number, Written>): void {
  for (const run of text.split(',')) {
    const [runNo, before, at] = run.split(' ');
    written.set(Number(runNo), { before: integerOf(before!), at: integerOf(at!) });
  }
}

/** Adds the events whose keys the group does not have yet. */
function addEvents(group: RunGroup, events: readonly PreparedEvent[]): void {
  const first = group.events[0]!;
  for (const event of events) {
    group.keys ??= new Set([first.idempotencyKey]);
    if (group.keys.has(event.idempotencyKey)) continue;
    group.keys.add(event.idempotencyKey);
    if (event.projectId !== first.projectId || event.environmentId !== first.environmentId) group.mixed = true;
    group.events.push(event);
  }
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
  written: Written | undefined,
  stored: ReadonlyMap<string, StoredRunEvent> | undefined,
): GroupOutcome {
  const known = stored?.get(event.idempotencyKey);
  if (known) return [{ runSeq: known.runSeq, persistedAt: known.persistedAt, duplicateOf: known }];
  return written ? [{ runSeq: written.before + 1, persistedAt: written.at, duplicateOf: null }] : 'left';
}

/** Returns the position of each key of a run. New events were written in order. */
function keyPositions(
  group: RunGroup,
  written: Written | undefined,
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
