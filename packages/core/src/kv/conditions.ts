/** The rules of one conditional step on a record (KV-2, KV-3): pure functions, shared by every engine. */
import type { Fields, RecordWrite } from '../engine/records.ts';

/** The state of a live record that the rules need. */
export interface RecordState {
  fields: Fields;
  revision: number;
  /** Milliseconds on the engine's clock; `null` means that it does not expire. */
  expiresAt: number | null;
}

/** Whether all conditions of the step hold. */
export function meets(
  { expect }: Pick<RecordWrite, 'expect'>,
  record: Pick<RecordState, 'fields' | 'revision'> | undefined,
): boolean {
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

/** Returns the record after the step with its new revision, or `null` when no field is left. */
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

/** Whether a step is independent of the previous record, so that it can replace a damaged one. */
export function startsAnew({ mode, expect }: RecordWrite): boolean {
  return mode !== 'merge' && (expect?.fields?.size ?? 0) === 0;
}
