/**
 * Where a job stands in the index of its engine. A job is a KV record, whoever writes it; its places follow from its
 * key and fields alone, so that every engine keeps the index in the same step as the record (KV-7, KV-8).
 *
 * - `{state}/{type}/{updated_at}`: every job by state, the one untouched for longest first;
 * - `ready/{type}/{rank}{created_at}`: pending jobs in the order they are claimed;
 * - `delayed/{type}/{run_at}`: pending jobs that wait for their time, instead of both places above;
 * - `lease/{type}/{timeout_at}`: claimed and running jobs by the end of their lease;
 * - `claim/{type}/{claim_id}`: claimed and running jobs by their claim, to find what a claim sent again has taken;
 * - `unannounced/{type}/{updated_at}`: failed jobs whose end nobody was told of yet.
 */
import { JOB_STATES } from '../contracts/jobs.ts';
import type { Fields } from '../engine/records.ts';
import { HELD_STATES } from './states.ts';

/** Keys of jobs start with this; the type and the id follow, parted by a dot (KV-6). */
export const JOB_PREFIX = 'gbe.state.tasks.';

const JOB_KEY = /^gbe\.state\.tasks\.([A-Za-z0-9_-]{1,100})\.(.+)$/s;
/** Claim ids that the index knows; `claim` takes no others. */
export const CLAIM_ID = /^[A-Za-z0-9_-]{1,100}$/;
const STATES: ReadonlySet<string> = new Set(JOB_STATES);
const HELD: ReadonlySet<string> = new Set(HELD_STATES);
/** Times that fit the index; anything else counts as absent. */
const TIME = /^(0|[1-9][0-9]{0,14})$/;
const WHOLE = /^(0|[1-9][0-9]{0,15})$/;
const PRIORITY = /^-?(0|[1-9][0-9]{0,3})$/;
/** A priority is from −1000 to 1000; the highest has the lowest rank. */
const MIDDLE_RANK = 5000;
const DIGITS = 15;

/** The job type in a key, `null` for a key that is no job's. */
export function jobTypeOf(key: string): string | null {
  return JOB_KEY.exec(key)?.[1] ?? null;
}

/** The places of a record of `kv`, in no particular order; none unless it is a job. */
export function placesOf(key: string, fields: Fields): string[] {
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
  const places = [`${state}/${type}/${updatedAt}`];
  if (state === 'pending') places.push(`ready/${type}/${MIDDLE_RANK - priorityOf(fields)}${createdAt ?? padded('0')}`);
  if (state === 'failed' && fields.has('unannounced')) places.push(`unannounced/${type}/${updatedAt}`);
  if (!HELD.has(state)) return places;
  const claimId = textOf(fields, 'claim_id');
  if (timeoutAt !== null) places.push(`lease/${type}/${timeoutAt}`);
  if (CLAIM_ID.test(claimId)) places.push(`claim/${type}/${claimId}`);
  return places;
}

/** The range of one kind of place, of one type or of all. */
export function placeRange(kind: string, type?: string): { from: string; to: string } {
  const prefix = type === undefined ? kind : `${kind}/${type}`;
  // '0' is the character after '/'.
  return { from: `${prefix}/`, to: `${prefix}0` };
}

/** A time as it is written in places. */
export function padded(time: number | string): string {
  return String(time).padStart(DIGITS, '0');
}

/** Returns a field as a time, or `null` when it is anything else. */
export function timeOf(fields: Fields, field: string): number | null {
  const text = textOf(fields, field);
  return TIME.test(text) ? Number(text) : null;
}

/** Returns a field as a count, any safe integer from 0 on, or `null` when it is anything else. */
export function countOf(fields: Fields, field: string): number | null {
  const text = textOf(fields, field);
  return WHOLE.test(text) && Number.isSafeInteger(Number(text)) ? Number(text) : null;
}

/** The priority of a job; 0 when it has none that is one. */
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
  return bytes === undefined ? '' : Buffer.from(bytes).toString();
}
