/** A group of appends as the append statement takes them, and its answer as outcomes of each append. */
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
import { STATUS_PLACES } from './append-sql.ts';
import { eventOf } from './run-rows.ts';

/** The appends of a group that speak of the same run. */
interface RunGroup {
  appends: RunAppend[];
  /** Events with a key that is new in this group, in order; later ones of the same key are their duplicates. */
  events: PreparedEvent[];
  placeOfKey: Map<string, number>;
  /** Whether its events name several projects or environments: then some must be refused, which is the exact way's business. */
  mixed: boolean;
}

/** How an append of the group went: placed, or left for the exact way. */
export type GroupOutcome = PlacedEvent[] | 'left';

/** A row of the answer, as an array: run_no, before_seq, updated_at, ord, then the columns of a stored event. */
export type AnswerRow = readonly unknown[];

const ANSWER_EVENT_AT = 4;

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
        group = { appends: [], events: [], placeOfKey: new Map(), mixed: false };
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

  /** The parameters of the append statement. */
  parameters(): unknown[] {
    const events: unknown[][] = Array.from({ length: 14 }, () => []);
    const runs: unknown[][] = Array.from({ length: 12 }, () => []);
    for (const [runNo, group] of this.#runs.entries()) {
      if (group.mixed) continue;
      let roll: Digest | null = null;
      for (const [index, event] of group.events.entries()) {
        roll = rollOf(roll, event.leaf);
        push(events, [
          runNo,
          index + 1,
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
          digestBytes(roll).toString('hex'),
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
        group.events.length,
        digestBytes(roll!).toString('hex'),
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
      else keep(stored, runNo, eventOf(row, ANSWER_EVENT_AT));
    }
    const outcomes = new Map<RunAppend, GroupOutcome>();
    for (const [runNo, group] of this.#runs.entries()) {
      const place = written.get(runNo);
      for (const append of group.appends) {
        outcomes.set(append, place ? placedIn(group, append, place) : allStored(append, stored.get(runNo)));
      }
    }
    return this.#appends.map((append) => outcomes.get(append)!);
  }
}

function addAppend(group: RunGroup, append: RunAppend): void {
  group.appends.push(append);
  for (const event of append.events) {
    if (group.placeOfKey.has(event.idempotencyKey)) continue;
    group.placeOfKey.set(event.idempotencyKey, group.events.length);
    group.events.push(event);
    const [first] = group.events;
    if (event.projectId !== first!.projectId || event.environmentId !== first!.environmentId) group.mixed = true;
  }
}

function push(columns: unknown[][], values: readonly unknown[]): void {
  for (const [at, value] of values.entries()) columns[at]!.push(value);
}

/** The status a run has afterwards, for each status it may have before: nothing first, then as `STATUS_PLACES`. */
function statusesAfter(events: readonly PreparedEvent[]): string {
  return [null, ...STATUS_PLACES]
    .map((before) => events.reduce((status, event) => nextRunStatus(status, event.eventType), before) ?? '')
    .join(',');
}

function keep(stored: Map<number, Map<string, StoredRunEvent>>, runNo: number, event: StoredRunEvent): void {
  const ofRun = stored.get(runNo) ?? new Map<string, StoredRunEvent>();
  stored.set(runNo, ofRun.set(event.idempotencyKey, event));
}

/** Where the events of an append stand in a run that was written; the first of a key is the one that was. */
function placedIn(group: RunGroup, append: RunAppend, place: { before: number; at: number }): PlacedEvent[] {
  return append.events.map((event) => {
    const at = group.placeOfKey.get(event.idempotencyKey)!;
    const first = group.events[at]!;
    const runSeq = place.before + at + 1;
    const { leaf, ...body } = first;
    const duplicateOf = first === event ? null : { ...body, runSeq, persistedAt: place.at, commitIndex: at + 1, link: leaf };
    return { runSeq, persistedAt: place.at, duplicateOf };
  });
}

/** An append of nothing but stored keys is answered by them; any other waits for the exact way. */
function allStored(append: RunAppend, stored: Map<string, StoredRunEvent> | undefined): GroupOutcome {
  const placed: PlacedEvent[] = [];
  for (const event of append.events) {
    const duplicateOf = stored?.get(event.idempotencyKey);
    if (!duplicateOf) return 'left';
    placed.push({ runSeq: duplicateOf.runSeq, persistedAt: duplicateOf.persistedAt, duplicateOf });
  }
  return placed;
}
