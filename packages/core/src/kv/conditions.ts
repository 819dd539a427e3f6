/** The rules of one conditional step on a record (KV-2, KV-3): pure, and the same for every engine. */
import type { Fields, RecordWrite } from '../engine/records.ts';

/** What the rules need to know of a live record. */
export interface RecordState {
  fields: Fields;
  revision: number;
  /** Milliseconds on the engine's clock; `null` lives for ever. */
  expiresAt: number | null;
}

/** Whether all that the step expects holds. */
export function meets({ expect }: RecordWrite, record: Pick<RecordState, 'fields' | 'revision'> | undefined): boolean {
  if (!expect) return true;
  if (expect.exists !== undefined && expect.exists !== (record !== undefined)) return false;
  if (expect.revision !== undefined && expect.revision !== (record?.revision ?? 0)) return false;
  for (const [field, wanted] of expect.fields ?? []) {
    const value = record?.fields.get(field);
    if (wanted === null ? value !== undefined : value === undefined || Buffer.compare(value, wanted) !== 0)
      return false;
  }
  return true;
}

/** The record after the step, at a time and under a new revision; `null` when its last field goes. */
export function recordAfter(
  write: RecordWrite,
  before: RecordState | undefined,
  revision: number,
  now: number,
): (RecordState & { fields: Map<string, Uint8Array> }) | null {
  if (write.mode === 'delete') return null;
  const fields = new Map(write.mode === 'merge' ? before?.fields : undefined);
  for (const [field, value] of write.set) {
    if (value === null) fields.delete(field);
    else fields.set(field, new Uint8Array(value));
  }
  for (const [field, plus] of write.stamps ?? []) fields.set(field, Buffer.from(String(now + plus)));
  if (fields.size === 0) return null;
  return { fields, revision, expiresAt: expiryAfter(write, before, now) };
}

function expiryAfter(write: RecordWrite, before: RecordState | undefined, now: number): number | null {
  if (write.ttlMs !== undefined) return write.ttlMs === null ? null : now + write.ttlMs;
  return write.mode === 'replace' ? null : (before?.expiresAt ?? null);
}

/** Whether a step needs nothing of the record that was: it repairs one that is damaged. */
export function startsAnew({ mode, expect }: RecordWrite): boolean {
  return mode !== 'merge' && (expect?.fields?.size ?? 0) === 0;
}
