/**
 * Query parameters from call arguments: what could not be told from another argument at the other end is refused here, so
 * that no filter is ever lost on the way and means everything.
 */
import { checkId, invalidArgument } from '@tidemark/core/portable';

export type Parameters = Record<string, unknown>;

const NUMBERS = new Set(['limit', 'afterSeq', 'atSeq', 'expectedSeq']);
const DURATIONS = new Set(['wait', 'threshold', 'grace']);
const BOOLEANS = new Set(['rejectInvalidTransitions', 'overDeleted', 'keepEncoded', 'step', 'storage', 'full']);
/** Sent as JSON. */
const OBJECTS = new Set(['labels', 'scope']);
/** Sent once for each item; once with an empty value when there is none. */
const LISTS = new Set(['status', 'eventType']);

/** The query text, with its question mark; only parameters that are `undefined` are left out. */
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
  if (NUMBERS.has(name) || BOOLEANS.has(name)) {
    const type = NUMBERS.has(name) ? 'number' : 'boolean';
    if (typeof value === type) return String(value);
    throw invalidArgument(name, `a ${type}`, value);
  }
  if (typeof value === 'string') {
    // An empty value of these stands for the empty list.
    return LISTS.has(name) ? checkId(value, name) : value;
  }
  if (typeof value === 'number' && DURATIONS.has(name)) return String(value);
  throw invalidArgument(name, 'a text', value);
}
