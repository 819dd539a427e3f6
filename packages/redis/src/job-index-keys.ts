/**
 * Predicts the index keys of a job after a step from the step alone, so that the script need not read the record
 * again.
 * The rule is core's `indexKeysOf`. Stand-ins represent the values that differ between jobs of a type, so that the rule
 * is applied once for all of them.
 */
import { JOB_STATES } from '@tidemark/core';
import { HELD_STATES, indexKeysOf, jobTypeOf, type RecordWrite } from '@tidemark/core/engine';

/** An index key, or the part of it before a time some milliseconds from now. */
export interface IndexKeyTemplate {
  start: string;
  offset: number | null;
}

const NO_STAMPS: ReadonlyMap<string, number> = new Map();
const HELD: ReadonlySet<string> = new Set(HELD_STATES);
/** Entries in these states depend on fields that moves do not write, such as the priority. */
const DEPENDENT: ReadonlySet<string> = new Set(['pending', 'failed']);
/** Fields whose values are part of index keys. */
const TIMES = ['created_at', 'run_at', 'timeout_at', 'updated_at'];
/** Other fields on which the index keys of a new job depend, besides the state and the claim. */
const OTHERS = ['priority', 'unannounced'];
const STATES: ReadonlySet<string> = new Set(JOB_STATES);
const PRIORITY = /^-?[0-9]{1,4}$/;

/** Each is as long as a time in an index key. */
const STAND_INS = Array.from({ length: 4 }, (_, at) => String(999_999_999_999_990 + at));
const STAND_IN_BYTES = STAND_INS.map((text) => Buffer.from(text));
const CLAIM_STAND_IN = 'a-claim';
const TIME_DIGITS = STAND_INS[0]!.length;
/** A time this far from now might have more digits. */
const MAX_OFFSET = 10 ** (TIME_DIGITS - 1);
/** Claim ids that are indexed, and are not part of any other entry. */
const CLAIM_ID = /^[A-Za-z0-9_-]{1,100}$/;

/** An index key that may end with a claim id or a time. */
interface Template extends IndexKeyTemplate {
  endsWithClaim: boolean;
}

const MAX_TEMPLATES = 1_000;
const templates = new Map<string, readonly Template[]>();

/**
 * Returns the index keys of a job after an applied step, or `null` if they also depend on fields that the step does not
 * name, or on times that it sets.
 */
export function indexKeysAfter({ name, expect, set, stamps = NO_STAMPS }: RecordWrite): IndexKeyTemplate[] | null {
  const state = textOf(set.get('state'));
  const type = jobTypeOf(name.key);
  const isNew = expect?.exists === false;
  if (type === null || !STATES.has(state) || stamps.size > STAND_INS.length) return null;
  if (!isNew && !namesAll(state, set, stamps)) return null;
  for (const field of TIMES) if (set.get(field)) return null;
  for (const offset of stamps.values()) if (offset > MAX_OFFSET) return null;
  const claimId = textOf(set.get('claim_id'));
  if (claimId !== '' && !CLAIM_ID.test(claimId)) return null;
  const priority = textOf(set.get('priority'));
  if (priority !== '' && !PRIORITY.test(priority)) return null;
  let scope = `${type} ${state} ${claimId === ''} ${priority} ${Boolean(set.get('unannounced'))}`;
  for (const [field, offset] of stamps) scope += ` ${field}+${offset}`;
  const found = templates.get(scope) ?? addTemplates(scope, name.key, set, stamps);
  return found.map(({ start, offset, endsWithClaim }) => ({ start: endsWithClaim ? start + claimId : start, offset }));
}

function addTemplates(
  scope: string,
  key: string,
  set: RecordWrite['set'],
  stamps: ReadonlyMap<string, number>,
): readonly Template[] {
  const fields = new Map<string, Uint8Array>();
  for (const field of ['state', ...OTHERS]) {
    const value = set.get(field);
    if (value) fields.set(field, value);
  }
  if (textOf(set.get('claim_id')) !== '') fields.set('claim_id', Buffer.from(CLAIM_STAND_IN));
  const offsets: number[] = [];
  for (const [field, offset] of stamps) fields.set(field, STAND_IN_BYTES[offsets.push(offset) - 1]!);
  const found = indexKeysOf(key, fields).map((indexKey) => templateOf(indexKey, offsets));
  if (templates.size >= MAX_TEMPLATES) templates.clear();
  templates.set(scope, found);
  return found;
}

/** Whether a step on an existing job names all fields that its index entries depend on. */
function namesAll(state: string, set: RecordWrite['set'], stamps: ReadonlyMap<string, number>): boolean {
  const names = (field: string) => set.has(field) || stamps.has(field);
  // Without `updated_at`, the entries have the time of creation.
  if (DEPENDENT.has(state) || !stamps.has('updated_at')) return false;
  return !HELD.has(state) || (names('timeout_at') && names('claim_id'));
}

function textOf(bytes: Uint8Array | null | undefined): string {
  return bytes ? Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString() : '';
}

function templateOf(indexKey: string, offsets: readonly number[]): Template {
  if (indexKey.endsWith(`/${CLAIM_STAND_IN}`))
    return { start: indexKey.slice(0, -CLAIM_STAND_IN.length), offset: null, endsWithClaim: true };
  const at = offsets.findIndex((_, index) => indexKey.endsWith(STAND_INS[index]!));
  if (at === -1) return { start: indexKey, offset: null, endsWithClaim: false };
  return { start: indexKey.slice(0, -TIME_DIGITS), offset: offsets[at]!, endsWithClaim: false };
}
