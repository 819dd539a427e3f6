/** Rows of `runs` and `run_events`, the same on every SQL engine: column lists and how values go in and come out. */
import { isTidemarkError } from '@tidemark/core';
import {
  type DamagedHead,
  damagedHead,
  digestBytes,
  digestOf,
  type RunHead,
  type RunTombstone,
  type StoredRedaction,
  type StoredRunEvent,
} from '@tidemark/core/engine';

/** The columns of an event after its run, in the order `eventOf` and `valuesOfEvent` have them. */
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
  'redaction',
] as const;

export type EventValue = string | number | null | Uint8Array;

export function valuesOfEvent(event: StoredRunEvent): EventValue[] {
  return [
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
    event.redaction ? JSON.stringify(event.redaction) : null,
  ];
}

/** An event from a row that has `EVENT_COLUMNS` from a place on. Numbers may come as text (RUN-16). */
export function eventOf(row: readonly unknown[], from = 0): StoredRunEvent {
  const event: StoredRunEvent = {
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
    link: digestOf(row[from + 16]),
  };
  const redaction = redactionOf(row[from + 17] as string | null);
  if (redaction) event.redaction = redaction;
  return event;
}

/** Without its redaction an event does not fit its chain: one that cannot be decoded is found there. */
function redactionOf(text: string | null): StoredRedaction | null {
  if (text === null) return null;
  try {
    return JSON.parse(text) as StoredRedaction | null;
  } catch {
    return null;
  }
}

/** The columns of a head, in the order `headOf` and `valuesOfHead` have them. */
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
  'rewrites',
  'removed',
] as const;

export function valuesOfHead(head: RunHead): EventValue[] {
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
    head.rewrites,
    null,
  ];
}

/** The heads of a list's rows; those that cannot be decoded are passed on. */
export function headsOf(rows: readonly (readonly unknown[])[], onDamaged?: (head: DamagedHead) => void): RunHead[] {
  return rows.flatMap((row) => {
    try {
      return [headOf(row) as RunHead];
    } catch (error) {
      if (!isTidemarkError(error, 'CORRUPT_EVENT')) throw error;
      onDamaged?.({ run: { tenantId: row[0] as string, runId: row[1] as string }, seq: Number(row[7]) });
      return [];
    }
  });
}

/** Throws `CORRUPT_EVENT` for a head that cannot be decoded. */
export function headOf(row: readonly unknown[]): RunHead | RunTombstone {
  try {
    return decodeHead(row);
  } catch {
    throw damagedHead({ tenantId: row[0] as string, runId: row[1] as string }, Number(row[7]));
  }
}

function decodeHead(row: readonly unknown[]): RunHead | RunTombstone {
  if (row[14] !== null) return JSON.parse(row[14] as string) as RunTombstone;
  return {
    tenantId: row[0] as string,
    runId: row[1] as string,
    projectId: row[2] as string,
    environmentId: row[3] as string,
    planId: row[4] as string,
    planVersion: row[5] as string,
    status: row[6] as RunHead['status'],
    seq: row[7] as number,
    link: digestOf(row[8]),
    createdAt: row[9] as number,
    updatedAt: row[10] as number,
    labels: JSON.parse(row[11] as string) as Record<string, string>,
    parentRunId: row[12] as string | null,
    rewrites: row[13] as number,
  };
}
