/**
 * Builds query parameters from call arguments. Rejects values that the server could not distinguish from other values,
 * because a filter that is lost in transit would match everything.
 */
import { checkId, invalidArgument } from '@tidemark/core/portable';

export type Parameters = Record<string, unknown>;

const NUMBERS = new Set(['limit', 'afterSeq', 'beforeSeq', 'atSeq', 'expectedSeq']);
const DURATIONS = new Set(['wait', 'threshold', 'grace']);
const BOOLEANS = new Set([
  'rejectInvalidTransitions',
  'overDeleted',
  'keepEncoded',
  'step',
  'storage',
  'full',
  'reverse',
  'keysOnly',
  'notices',
]);
/** Parameters that are sent as JSON. */
const OBJECTS = new Set(['labels', 'scope']);
/** Parameters that are sent once per item, or once with an empty value for an empty list. */
const LISTS = new Set(['status', 'eventType']);

/** Returns the query string with its question mark. Omits only parameters that are `undefined`. */
export function queryOf(parameters: Parameters): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue;
    if (LISTS.has(name) && Array.isArray(value)) parts.push(...listOf(name, value));
    else parts.push(part(name, OBJECTS.has(name) ? JSON.stringify(value) : textOf(name, value)));
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

function listOf(name: string, items: readonly unknown[]): string[] {
  return items.length === 0 ? [`${name}=`] : items.map((item) => part(name, checkId(item, name)));
}

function part(name: string, text: string): string {
  if (!text.isWellFormed()) throw invalidArgument(name, 'well-formed Unicode text', text);
  return `${name}=${encodeURIComponent(text)}`;
}

function textOf(name: string, value: unknown): string {
  // A number, or `new` for an append that begins a new life.
  if (name === 'life' && typeof value === 'number') return String(value);
  if (NUMBERS.has(name) || BOOLEANS.has(name)) {
    const type = NUMBERS.has(name) ? 'number' : 'boolean';
    if (typeof value === type) return String(value);
    throw invalidArgument(name, `a ${type}`, value);
  }
  if (typeof value === 'string') {
    // An empty value would mean the empty list.
    return LISTS.has(name) ? checkId(value, name) : value;
  }
  if (typeof value === 'number' && DURATIONS.has(name)) return String(value);
  throw invalidArgument(name, 'a string', value);
}
