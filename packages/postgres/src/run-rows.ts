/** Rows of `runs` and `run_events`: column lists and how values go in and come out. */
import { type Digest, digestOf, type RunHead, type RunTombstone, type StoredRunEvent } from '@tidemark/core/engine';

/** The columns `eventOf` reads, in this order. */
export const EVENT_COLUMNS = [
  'run_seq',
  'event_id',
  'event_type',
  'emitted_at',
  'persisted_at',
  'project_id',
  'environment_id',
  'plan_id',
  'plan_version',
  'engine_attempt_id',
  'logical_attempt_id',
  'idempotency_key',
  'step_id',
  'extra',
  'payload',
  'commit_index',
  'link',
] as const;

/** An event from a row that begins with `EVENT_COLUMNS`; numbers may come as text, links as bytes or hex. */
export function eventOf(row: readonly unknown[], from = 0): StoredRunEvent {
  return {
    runSeq: Number(row[from]),
    eventId: row[from + 1] as string,
    eventType: row[from + 2] as string,
    emittedAt: row[from + 3] as string,
    persistedAt: Number(row[from + 4]),
    projectId: row[from + 5] as string,
    environmentId: row[from + 6] as string,
    planId: row[from + 7] as string,
    planVersion: row[from + 8] as string,
    engineAttemptId: Number(row[from + 9]),
    logicalAttemptId: Number(row[from + 10]),
    idempotencyKey: row[from + 11] as string,
    stepId: row[from + 12] as string | null,
    extra: row[from + 13] as string | null,
    payload: row[from + 14] as string | null,
    commitIndex: Number(row[from + 15]),
    link: linkOf(row[from + 16]),
  };
}

function linkOf(value: unknown): Digest {
  return typeof value === 'string' ? Buffer.from(value, 'hex').toString('latin1') : digestOf(value as Uint8Array);
}

/** The columns `headOf` reads, in this order. */
export const HEAD_COLUMNS = [
  'tenant_id',
  'run_id',
  'project_id',
  'environment_id',
  'plan_id',
  'plan_version',
  'status',
  'last_seq',
  'link',
  'created_at',
  'updated_at',
  'labels',
  'parent_run_id',
  'removed',
] as const;

export function headOf(row: readonly unknown[]): RunHead | RunTombstone {
  if (row[13] !== null) return JSON.parse(row[13] as string) as RunTombstone;
  return {
    tenantId: row[0] as string,
    runId: row[1] as string,
    projectId: row[2] as string,
    environmentId: row[3] as string,
    planId: row[4] as string,
    planVersion: row[5] as string,
    status: row[6] as RunHead['status'],
    seq: row[7] as number,
    link: digestOf(row[8] as Uint8Array),
    createdAt: row[9] as number,
    updatedAt: row[10] as number,
    labels: JSON.parse(row[11] as string) as Record<string, string>,
    parentRunId: row[12] as string | null,
  };
}
