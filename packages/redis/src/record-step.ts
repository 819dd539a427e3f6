/** Encodes conditional steps as script arguments, and decodes records from replies. */
import { jobTypeOf, type RecordName, type RecordOutcome, type RecordWrite } from '@tidemark/core/engine';
import { expiryMember } from './layout.ts';
import type { Argument } from './protocol/encode.ts';
import { companionOf, recordStart, sumOfField } from './record-sums.ts';
import { NO_FIELDS, parseRecord } from './stored-record.ts';

/** Returns the job type of a record, or `null` when the record is not a job. */
export function jobTypeOfRecord({ space, key }: RecordWrite['name']): string | null {
  return space === 'kv' ? jobTypeOf(key) : null;
}

/**
 * Returns the arguments of a step, in the order `step.lua` reads them. With `sums`, each field is written with its
 * checksum. Without it, checksums are removed, because the store may have been upgraded since this process opened it.
 */
export function stepArguments(write: RecordWrite, brief: boolean, sums: boolean): Argument[] {
  const { name, mode, expect, stamps, ttlMs, requestId, requestIsNew, answersBatch } = write;
  const [expected, absent] = splitByValue(expect?.fields);
  const [values, dropped] = sums ? withCompanions(write) : withoutCompanions(write);
  const exists = expect?.exists === undefined ? '' : expect.exists ? '1' : '0';
  const ttl = ttlMs === undefined ? '' : ttlMs === null ? '-' : ttlMs;
  const counts = `${expected.length / 2},${absent.length},${values.length / 2},${dropped.length},${stamps?.size ?? 0}`;
  const flags = (brief ? 1 : 0) + (requestIsNew ? 2 : 0) + (answersBatch ? 4 : 0);
  const shape = `${mode},${ttl},${exists},${expect?.revision ?? ''},${flags},${counts}`;
  const args: Argument[] = [name.key, shape, requestId ?? '', jobTypeOfRecord(name) ?? ''];
  args.push(...expected, ...absent, ...values, ...dropped);
  for (const [field, offset] of stamps ?? []) args.push(field, String(offset));
  args.push(expiryMember(name));
  return args;
}

/**
 * Returns the fields with their values and checksums, and everything to remove. The server computes stamps, so a
 * stamped field has no checksum until a caller sets the field.
 */
function withCompanions({ name, set, stamps }: RecordWrite): [Argument[], string[]] {
  const start = recordStart(name);
  const [values, without]: [Argument[], string[]] = [[], []];
  for (const [field, value] of set) {
    if (value === null) without.push(field, companionOf(field));
    else values.push(field, bytesOf(value), companionOf(field), sumOfField(start, field, value));
  }
  for (const field of stamps?.keys() ?? []) without.push(companionOf(field));
  return [values, without];
}

/**
 * Returns the fields with their values, and the fields to remove. Old checksums are removed, because they would no
 * longer match.
 */
function withoutCompanions({ set, stamps }: RecordWrite): [Argument[], string[]] {
  const [values, without] = splitByValue(set);
  without.push(...Array.from(set.keys(), companionOf), ...Array.from(stamps?.keys() ?? [], companionOf));
  return [values, without];
}

/** Splits fields into fields with a value and fields without one (`null`). */
function splitByValue(fields: ReadonlyMap<string, Uint8Array | null> | undefined): [Argument[], string[]] {
  const [values, without]: [Argument[], string[]] = [[], []];
  for (const [field, value] of fields ?? []) {
    if (value === null) without.push(field);
    else values.push(field, bytesOf(value));
  }
  return [values, without];
}

export function bytesOf(value: Uint8Array): Buffer {
  return Buffer.isBuffer(value) ? value : Buffer.from(value.buffer, value.byteOffset, value.length);
}

/** `[applied, existed, revision of the change or 0, revision or 0, ttl or -1, fields]`. */
export type StepReply = [number, number, number, number, number, Buffer[]?];

/**
 * Decodes the outcome of a step. If the record is damaged outside the written fields, only intact fields are returned.
 */
export function outcomeOf(name: RecordName, [applied, existed, , revision, ttl, fields]: StepReply): RecordOutcome {
  const record =
    revision === 0
      ? null
      : {
          fields: fields ? (parseRecord(name, fields)?.fields ?? NO_FIELDS) : NO_FIELDS,
          revision,
          ttlMs: ttl === -1 ? null : ttl,
        };
  return { applied: applied === 1, record, existed: existed === 1 };
}
