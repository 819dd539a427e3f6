/** Compares the views with a fold of the store. */
import { type RunEventRecord, type RunSnapshot, type RunSummary, reduceRun, type Store } from '@tidemark/core';

type RunLife = Pick<RunSummary, 'tenantId' | 'runId' | 'life'>;
type Row = Record<string, string | null>;
export interface Views {
  query: (sql: string) => Promise<Row[]>;
  /** Database and schema. */
  schemaName: string;
}

/** The content of the views: events by key, runs and steps, all as text. */
export interface Shown {
  events: Map<string, string>;
  runs: Map<string, string>;
  steps: Map<string, string>;
}

const msOf = (column: string) => `DATEDIFF('millisecond', TO_TIMESTAMP_TZ(0, 3), ${column})::BIGINT AS ${column}`;
const keyOf = (...parts: unknown[]) => JSON.stringify(parts.map(String));

/** Folds every run of the store, and returns what the views should show. */
export async function folded(store: Store): Promise<Shown> {
  const runs: RunSummary[] = [];
  for (let cursor: string | undefined; ; ) {
    const page = await store.runs.listRuns({ owner: 'any', limit: 1_000, ...(cursor === undefined ? {} : { cursor }) });
    runs.push(...page.items);
    cursor = page.next;
    if (cursor === undefined) return foldedRuns(store, runs);
  }
}

/** Folds runs, and returns what the views should show of them. */
export async function foldedRuns(store: Store, runs: readonly RunLife[]): Promise<Shown> {
  const shown: Shown = { events: new Map(), runs: new Map(), steps: new Map() };
  for (const { tenantId, runId, life = 1 } of runs) {
    const events = await Array.fromAsync(store.runs.readEvents(runId, { tenantId }));
    for (const event of events) shown.events.set(keyOf(tenantId, runId, life, event.runSeq), eventText(event));
    if (events.length > 0) addFold(shown, reduceRun(events), life, events);
  }
  return shown;
}

/** Reads the rows of the views for the runs that meet a condition. */
export async function viewed({ query, schemaName }: Views, where = 'TRUE'): Promise<Shown> {
  const shown: Shown = { events: new Map(), runs: new Map(), steps: new Map() };
  for (const row of await query(`SELECT TENANT_ID, RUN_ID, LIFE, RUN_SEQ, EVENT_ID, EVENT_TYPE, ${msOf('EMITTED_AT')},
    ${msOf('PERSISTED_AT')}, STEP_ID, LOGICAL_ATTEMPT_ID, PAYLOAD::VARCHAR AS PAYLOAD, PAYLOAD_TEXT,
    EXTRA::VARCHAR AS EXTRA, EXTRA_TEXT, REDACTED::VARCHAR AS REDACTED FROM ${schemaName}.EVENTS WHERE ${where}`)) {
    const key = keyOf(row.TENANT_ID, row.RUN_ID, row.LIFE, row.RUN_SEQ);
    if (shown.events.has(key)) throw new Error(`EVENTS shows ${key} twice`);
    const json = (text: string | null | undefined) => (text ? JSON.parse(text) : null);
    shown.events.set(
      key,
      text([
        ...[row.EVENT_ID, row.EVENT_TYPE, Number(row.EMITTED_AT), Number(row.PERSISTED_AT), row.STEP_ID],
        ...[Number(row.LOGICAL_ATTEMPT_ID), json(row.PAYLOAD ?? row.PAYLOAD_TEXT)],
        ...[json(row.EXTRA ?? row.EXTRA_TEXT), json(row.REDACTED)],
      ]),
    );
  }
  for (const row of await query(`SELECT TENANT_ID, RUN_ID, LIFE, STATUS, ${msOf('STARTED_AT')}, ${msOf('COMPLETED_AT')},
    DURATION_MS, ERROR_CODE, ERROR_MESSAGE, LAST_EVENT_SEQ, EVENTS, REDACTIONS FROM ${schemaName}.RUNS WHERE ${where}`)) {
    const { TENANT_ID, RUN_ID, LIFE, ...rest } = row;
    shown.runs.set(keyOf(TENANT_ID, RUN_ID, LIFE), text(Object.values(rest)));
  }
  for (const row of await query(`SELECT TENANT_ID, RUN_ID, LIFE, STEP_ID, STATUS, ${msOf('STARTED_AT')},
    ${msOf('COMPLETED_AT')}, DURATION_MS, ERROR_CODE, ERROR_MESSAGE, LOGICAL_ATTEMPT_ID, ENGINE_ATTEMPT_ID
    FROM ${schemaName}.STEPS WHERE ${where}`)) {
    const { TENANT_ID, RUN_ID, LIFE, STEP_ID, ...rest } = row;
    shown.steps.set(keyOf(TENANT_ID, RUN_ID, LIFE, STEP_ID), text(Object.values(rest)));
  }
  return shown;
}

function addFold(shown: Shown, snapshot: RunSnapshot, life: number, events: readonly RunEventRecord[]): void {
  const { tenantId, runId, status, startedAt, completedAt, totalDurationMs, error, lastEventSeq, redactions } =
    snapshot;
  shown.runs.set(
    keyOf(tenantId, runId, life),
    text(
      [
        ...[status, ms(startedAt), ms(completedAt), totalDurationMs, error?.code, error?.message, lastEventSeq],
        ...[events.length, redactions ?? 0],
      ].map(asText),
    ),
  );
  for (const step of snapshot.steps)
    shown.steps.set(
      keyOf(tenantId, runId, life, step.stepId),
      text(
        [
          ...[step.status, ms(step.startedAt), ms(step.completedAt), step.durationMs],
          ...[step.error?.code, step.error?.message, step.logicalAttemptId, step.engineAttemptId],
        ].map(asText),
      ),
    );
}

function eventText(event: RunEventRecord): string {
  const { eventId, eventType, emittedAt, persistedAt, stepId, logicalAttemptId, payload, redacted } = event;
  const KNOWN =
    /^(tenantId|runId|runSeq|eventId|eventType|emittedAt|persistedAt|stepId|logicalAttemptId|engineAttemptId|projectId|environmentId|planId|planVersion|idempotencyKey|payload|redacted)$/;
  const extra = Object.entries(event).filter(([member, value]) => !KNOWN.test(member) && value !== undefined);
  return text([
    ...[eventId, eventType, Date.parse(emittedAt), Date.parse(persistedAt), stepId, logicalAttemptId, payload],
    ...[extra.length === 0 ? null : Object.fromEntries(extra), redacted],
  ]);
}

const ms = (time: string | undefined) => (time === undefined ? null : Date.parse(time));
const asText = (value: unknown) => (value === undefined || value === null ? null : String(value));
const text = (values: readonly unknown[]) => JSON.stringify(values.map((value) => value ?? null));
