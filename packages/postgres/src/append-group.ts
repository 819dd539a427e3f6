/** A group of appends as the append statement takes them, and its answer as outcomes of each append. */

import type { RunStatus } from '@tidemark/core';
import {
  type Digest,
  digestBytes,
  nextRunStatus,
  type PlacedEvent,
  type PreparedEvent,
  type RunAppend,
  rollOf,
  type StoredRunEvent,
} from '@tidemark/core/engine';
import { eventOf } from '@tidemark/sql';
import { STATUS_PLACES } from './append-sql.ts';

/** The appends of a group that speak of the same run. */
interface RunGroup {
  appends: RunAppend[];
  /** Events with a key that is new in this group, in order; later ones of the same key are their duplicates. */
  events: PreparedEvent[];
  keys: Set<string>;
  /** Whether its events name several projects or environments: then some must be refused, which is the exact way's business. */
  mixed: boolean;
}

/** How an append of the group went: placed, or left for the exact way. */
export type GroupOutcome = PlacedEvent[] | 'left';

/** A row of the answer, as an array: run_no, and either before_seq and updated_at or the columns of a stored event. */
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
        group = { appends: [], events: [], keys: new Set(), mixed: false };
        byRun.set(key, group);
        this.#runs.push(group);
      }
      addAppend(group, append);
    }
  }

  /** Every tenant the group speaks of. */
  get tenants(): string[] {
    return [...new Set(this.#appends.map((append) => append.run.tenantId))];
  }

  /** Whether an event of the group may change the status of its run. */
  get changesStatus(): boolean {
    return this.#runs.some((group) => statusesAfter(group.events) !== '');
  }

  /** The parameters of the append statement. */
  parameters(): unknown[] {
    const events: unknown[][] = Array.from({ length: 14 }, () => []);
    const runs: unknown[][] = Array.from({ length: 10 }, () => []);
    for (const [runNo, group] of this.#runs.entries()) {
      if (group.mixed) continue;
      let roll: Digest | null = null;
      for (const event of group.events) {
        roll = rollOf(roll, event.leaf);
        push(events, [
          runNo,
          event.eventId,
          event.eventType,
          event.emittedAt,
          event.planId,
          event.planVersion,
          event.engineAttemptId,
          event.logicalAttemptId,
          event.idempotencyKey,
          event.stepId,
          event.extra,
          event.payload,
          digestBytes(event.leaf).toString('hex'),
          // The first of a run rolls from nothing: its leaf is its roll.
          roll === event.leaf ? null : digestBytes(roll).toString('hex'),
        ]);
      }
      const [first] = group.appends;
      const { projectId, environmentId, planId, planVersion } = group.events[0]!;
      push(runs, [
        runNo,
        first!.run.tenantId,
        first!.run.runId,
        projectId,
        environmentId,
        planId,
        planVersion,
        statusesAfter(group.events),
        JSON.stringify(first!.labels),
        first!.parentRunId,
      ]);
    }
    return [...events, ...runs];
  }

  /** What the answer means for each append. */
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
      const places = placesIn(group, written.get(runNo), stored.get(runNo) ?? new Map());
      for (const append of group.appends) outcomes.set(append, placedBy(append, places));
    }
    return this.#appends.map((append) => outcomes.get(append)!);
  }
}

function addAppend(group: RunGroup, append: RunAppend): void {
  group.appends.push(append);
  for (const event of append.events) {
    if (group.keys.has(event.idempotencyKey)) continue;
    group.keys.add(event.idempotencyKey);
    group.events.push(event);
    const [first] = group.events;
    if (event.projectId !== first!.projectId || event.environmentId !== first!.environmentId) group.mixed = true;
  }
}

function push(columns: unknown[][], values: readonly unknown[]): void {
  for (const [at, value] of values.entries()) columns[at]!.push(value);
}

/** The status a run has afterwards, for each it may have before: none first, then as `STATUS_PLACES`. Empty when none can change. */
function statusesAfter(events: readonly PreparedEvent[]): string {
  const statuses = [null, ...STATUS_PLACES];
  const after = statuses.map((before) =>
    events.reduce((status, event) => nextRunStatus(status, event.eventType), before as RunStatus | null),
  );
  return after.every((status, at) => status === statuses[at]) ? '' : after.map((status) => status ?? '').join(',');
}

function keep(stored: Map<number, Map<string, StoredRunEvent>>, runNo: number, event: StoredRunEvent): void {
  const ofRun = stored.get(runNo) ?? new Map<string, StoredRunEvent>();
  stored.set(runNo, ofRun.set(event.idempotencyKey, event));
}

/** An event of the group and where it stands, whoever sent it first. */
interface Place {
  first: PreparedEvent | null;
  stored: StoredRunEvent;
}

/** Where each key of a run stands: stored before, or written now in the order of what was new. */
function placesIn(
  group: RunGroup,
  written: { before: number; at: number } | undefined,
  stored: ReadonlyMap<string, StoredRunEvent>,
): Map<string, Place> {
  const places = new Map<string, Place>();
  let commitIndex = 0;
  for (const event of group.events) {
    const known = stored.get(event.idempotencyKey);
    if (known) places.set(event.idempotencyKey, { first: null, stored: known });
    else if (written) {
      const { leaf, ...body } = event;
      commitIndex++;
      const row = { ...body, runSeq: written.before + commitIndex, persistedAt: written.at, commitIndex, link: leaf };
      places.set(event.idempotencyKey, { first: event, stored: row });
    }
  }
  return places;
}

/** The places of an append's events, or `left` when one of them has none yet. */
function placedBy(append: RunAppend, places: ReadonlyMap<string, Place>): GroupOutcome {
  const placed: PlacedEvent[] = [];
  for (const event of append.events) {
    const place = places.get(event.idempotencyKey);
    if (!place) return 'left';
    const { runSeq, persistedAt } = place.stored;
    placed.push({ runSeq, persistedAt, duplicateOf: place.first === event ? null : place.stored });
  }
  return placed;
}

/** A stored event of the answer: every column as text, its link in hex. */
function storedOf(columns: readonly (string | null)[]): StoredRunEvent {
  return eventOf([...columns.slice(0, -1), Buffer.from(columns.at(-1)!, 'hex')]);
}
