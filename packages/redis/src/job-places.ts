/**
 * The index entries that a job has after a step, told from the step alone. The script then need not read the record
 * again. The rule is core's `indexKeysOf`; times that only the server knows are represented by stand-ins.
 */
import { HELD_STATES, indexKeysOf, type RecordWrite } from '@tidemark/core/engine';

/** An index entry: a whole text, or what precedes a time some milliseconds from now. */
export interface Place {
  start: string;
  offset: number | null;
}

const NO_STAMPS: ReadonlyMap<string, number> = new Map();
const HELD: ReadonlySet<string> = new Set(HELD_STATES);
/** Entries in these states depend on fields that moves do not write, such as the priority. */
const DEPENDENT: ReadonlySet<string> = new Set(['pending', 'failed']);

/** Each is as long as a time in an index entry, and later than any time. */
const STAND_INS = Array.from({ length: 4 }, (_, at) => String(999_999_999_999_990 + at));
const STAND_IN_BYTES = STAND_INS.map((text) => Buffer.from(text));
const TIME_DIGITS = STAND_INS[0]!.length;
/** A time this far from now might have more digits. */
const LARGEST_OFFSET = 10 ** (TIME_DIGITS - 1);

/**
 * Returns the index entries of a job after a step that was applied, or `null` if they also depend on fields that the
 * step does not name.
 */
export function placesAfter({ name, expect, set, stamps = NO_STAMPS }: RecordWrite): Place[] | null {
  if (expect?.exists !== false && !namesAll(set, stamps)) return null;
  if (stamps.size > STAND_INS.length) return null;
  const fields = new Map<string, Uint8Array>();
  for (const [field, value] of set) {
    if (value === null) continue;
    if (value.length === TIME_DIGITS && STAND_IN_BYTES.some((bytes) => bytes.equals(value))) return null;
    fields.set(field, value);
  }
  const offsets: number[] = [];
  for (const [field, offset] of stamps) {
    if (offset > LARGEST_OFFSET) return null;
    fields.set(field, STAND_IN_BYTES[offsets.push(offset) - 1]!);
  }
  return indexKeysOf(name.key, fields).map((place) => placeOf(place, offsets));
}

/** Whether a step on an existing job names all fields that its index entries depend on. */
function namesAll(set: RecordWrite['set'], stamps: ReadonlyMap<string, number>): boolean {
  const names = (field: string) => set.has(field) || stamps.has(field);
  const bytes = set.get('state');
  if (!bytes || !names('updated_at')) return false;
  const state = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length).toString();
  if (DEPENDENT.has(state)) return false;
  return !HELD.has(state) || (names('timeout_at') && names('claim_id'));
}

function placeOf(place: string, offsets: readonly number[]): Place {
  const at = offsets.findIndex((_, index) => place.endsWith(STAND_INS[index]!));
  return at === -1 ? { start: place, offset: null } : { start: place.slice(0, -TIME_DIGITS), offset: offsets[at]! };
}
