/** Rows of `runs` and `run_events`: column lists, statements and how values go in and come out. */
import {
  digestBytes,
  digestOf,
  type RunHead,
  type RunKey,
  type RunTombstone,
  type StoredRunEvent,
} from '@tidemark/core/engine';
import type { Parameter } from './connection.ts';

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

/** Gives way to a stored event of the same key and to nothing else. */
export const INSERT_EVENT = `
  INSERT INTO run_events (tenant_id, run_id, ${EVENT_COLUMNS.join(', ')})
  VALUES (${Array(EVENT_COLUMNS.length + 2)
    .fill('?')
    .join(', ')})
  ON CONFLICT (run_id, tenant_id, idempotency_key) DO NOTHING`;

export function valuesOfEvent(run: RunKey, event: StoredRunEvent): Parameter[] {
  return [
    run.tenantId,
    run.runId,
    event.runSeq,
    event.eventId,
    event.eventType,
    event.emittedAt,
    event.persistedAt,
    event.projectId,
    event.environmentId,
    event.planId,
    event.planVersion,
    event.engineAttemptId,
    event.logicalAttemptId,
    event.idempotencyKey,
    event.stepId,
    event.extra,
    event.payload,
    event.commitIndex,
    digestBytes(event.link),
  ];
}

export function eventOf(row: readonly unknown[]): StoredRunEvent {
  return {
    runSeq: row[0] as number,
    eventId: row[1] as string,
    eventType: row[2] as string,
    emittedAt: row[3] as string,
    persistedAt: row[4] as number,
    projectId: row[5] as string,
    environmentId: row[6] as string,
    planId: row[7] as string,
    planVersion: row[8] as string,
    engineAttemptId: row[9] as number,
    logicalAttemptId: row[10] as number,
    idempotencyKey: row[11] as string,
    stepId: row[12] as string | null,
    extra: row[13] as string | null,
    payload: row[14] as string | null,
    commitIndex: row[15] as number,
    link: digestOf(row[16] as Uint8Array),
  };
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

export const UPSERT_HEAD = `
  INSERT INTO runs (${HEAD_COLUMNS.join(', ')}) VALUES (${HEAD_COLUMNS.map(() => '?').join(', ')})
  ON CONFLICT (run_id, tenant_id) DO UPDATE
  SET status = excluded.status, last_seq = excluded.last_seq, link = excluded.link, updated_at = excluded.updated_at`;

export function valuesOfHead(head: RunHead): Parameter[] {
  return [
    head.tenantId,
    head.runId,
    head.projectId,
    head.environmentId,
    head.planId,
    head.planVersion,
    head.status,
    head.seq,
    digestBytes(head.link),
    head.createdAt,
    head.updatedAt,
    JSON.stringify(head.labels),
    head.parentRunId,
    null,
  ];
}

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
