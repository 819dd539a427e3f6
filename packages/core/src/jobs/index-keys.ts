/**
 * The index keys of a job. A job is a KV record, and plain KV writes can change it too. Its index keys
 * depend only on its key and fields, so every engine updates the index in the same step as the record (KV-7, KV-8).
 * - `{state}/{type}/{updated_at}`: every job by state, least recently updated first;
 * - `ready/{type}/{rank}{created_at}`: pending jobs in the order they are claimed;
 * - `delayed/{type}/{run_at}`: pending jobs that are not due yet, instead of both keys above;
 * - `lease/{type}/{timeout_at}`: claimed and running jobs by the end of their lease;
 * - `claim/{type}/{claim_id}`: claimed and running jobs by their claim, to find the job of a retried claim;
 * - `unannounced/{type}/{updated_at}`: failed jobs whose failure was not announced yet.
 */
import { JOB_STATES } from '../contracts/jobs.ts';
import type { Fields } from '../engine/records.ts';
import { jobTypeOf } from '../tools/job-keys.ts';
import { textOfBytes } from '../tools/record-fields.ts';
import { HELD_STATES } from './states.ts';
import { TIME_DIGITS } from './times.ts';

/** Claim ids that can be indexed; `claim` accepts no others. */
export const CLAIM_ID = /^[A-Za-z0-9_-]{1,100}$/;
const STATES: ReadonlySet<string> = new Set(JOB_STATES);
const HELD: ReadonlySet<string> = new Set(HELD_STATES);
/** Times that fit the index. Anything else counts as absent. */
const TIME = /^(0|[1-9][0-9]{0,14})$/;
const COUNT_DIGITS = 16;
const ZERO = 48;
const PRIORITY = /^-?(0|[1-9][0-9]{0,3})$/;
/** A priority is from −1000 to 1000. The highest has the lowest rank. */
const MIDDLE_RANK = 5000;

/** Returns the index keys of a `kv` record in no particular order; none unless it is a job. */
export function indexKeysOf(key: string, fields: Fields): string[] {
  const type = jobTypeOf(key);
  const state = textOf(fields, 'state');
  if (type === null || !STATES.has(state)) return [];
  const [createdAt, runAt, timeoutAt] = [
    time(fields, 'created_at'),
    time(fields, 'run_at'),
    time(fields, 'timeout_at'),
  ];
  const updatedAt = time(fields, 'updated_at') ?? createdAt ?? padded('0');
  if (state === 'pending' && runAt !== null) return [`delayed/${type}/${runAt}`];
  const indexKeys = [`${state}/${type}/${updatedAt}`];
  if (state === 'pending')
    indexKeys.push(`ready/${type}/${MIDDLE_RANK - priorityOf(fields)}${createdAt ?? padded('0')}`);
  if (state === 'failed' && fields.has('unannounced')) indexKeys.push(`unannounced/${type}/${updatedAt}`);
  if (!HELD.has(state)) return indexKeys;
  const claimId = textOf(fields, 'claim_id');
  if (timeoutAt !== null) indexKeys.push(`lease/${type}/${timeoutAt}`);
  if (CLAIM_ID.test(claimId)) indexKeys.push(`claim/${type}/${claimId}`);
  return indexKeys;
}

/** Returns the range of one kind of index key, for one type or all. */
export function indexRange(kind: string, type?: string): { from: string; to: string } {
  const prefix = type === undefined ? kind : `${kind}/${type}`;
  // '0' is the character after '/'.
  return { from: `${prefix}/`, to: `${prefix}0` };
}

/** Formats a time for index keys. */
export function padded(time: number | string): string {
  return String(time).padStart(TIME_DIGITS, '0');
}

/** Returns a field as a time, or `null` when it is not a valid time. */
export function timeOf(fields: Fields, field: string): number | null {
  return wholeOf(fields.get(field), TIME_DIGITS);
}

/** Returns a field as a count (a safe integer from 0), or `null` when it is not one. */
export function countOf(fields: Fields, field: string): number | null {
  return wholeOf(fields.get(field), COUNT_DIGITS);
}

/** Reads a whole number without leading zeros from its digits, which costs less than to decode their text. */
function wholeOf(bytes: Uint8Array | undefined, most: number): number | null {
  if (bytes === undefined || bytes.length === 0 || bytes.length > most) return null;
  if (bytes.length > 1 && bytes[0] === ZERO) return null;
  let number = 0;
  for (const byte of bytes) {
    if (byte < ZERO || byte > ZERO + 9) return null;
    number = number * 10 + (byte - ZERO);
  }
  return Number.isSafeInteger(number) ? number : null;
}

/** Returns the job's priority, or 0 when it is missing or not an integer. */
export function priorityOf(fields: Fields): number {
  const text = textOf(fields, 'priority');
  return PRIORITY.test(text) ? Math.max(-1000, Math.min(1000, Number(text))) : 0;
}

function time(fields: Fields, field: string): string | null {
  const text = textOf(fields, field);
  return TIME.test(text) ? padded(text) : null;
}

function textOf(fields: Fields, field: string): string {
  const bytes = fields.get(field);
  return bytes === undefined ? '' : textOfBytes(bytes);
}
