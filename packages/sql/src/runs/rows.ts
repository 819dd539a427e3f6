/** Rows of `runs` and `run_events`, the same on every SQL engine: column lists, encoding and decoding of values. */
import { type EventFieldName, isTidemarkError } from '@tidemark/core';
import {
  type DamagedHead,
  damagedHead,
  digestBytes,
  digestOf,
  ROW_FIELDS,
  type RowValue,
  type RunHead,
  type RunTombstone,
} from '@tidemark/core/engine';

/** The columns of an event after its run, in the order of `rowOf` and `eventOfRow`. */
export const EVENT_COLUMNS: readonly string[] = ROW_FIELDS.map(columnOf);

/** The column of a field: `runSeq` is stored as `run_seq`. */
export function columnOf(field: EventFieldName): string {
  return field.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
}

/** The columns of a head, in the order of `headOf` and `valuesOfHead`. */
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
  'life',
  'rewrites',
  'removed',
] as const;

export function valuesOfHead(head: RunHead): RowValue[] {
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
    head.life,
    head.rewrites,
    null,
  ];
}

/** Decodes the heads of a list. Passes heads that cannot be decoded to `onDamaged`. */
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

/** Decodes a head. Throws `CORRUPT_EVENT` if it cannot be decoded. */
export function headOf(row: readonly unknown[]): RunHead | RunTombstone {
  try {
    return decodeHead(row);
  } catch {
    throw damagedHead({ tenantId: row[0] as string, runId: row[1] as string }, Number(row[7]));
  }
}

function decodeHead(row: readonly unknown[]): RunHead | RunTombstone {
  if (row[15] !== null) return { ...(JSON.parse(row[15] as string) as RunTombstone), rewrites: row[14] as number };
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
    life: row[13] as number,
    rewrites: row[14] as number,
  };
}
