/**
 * Builds query parameters from call arguments. Rejects values that the server could not distinguish from other values,
 * because a filter that is lost in transit would match everything.
 */
import { checkId, checkObject, invalidArgument } from '@tidemark/core/portable';
import { checkLabelTexts } from './labels.ts';

export type Parameters = Record<string, unknown>;

const NUMBERS = new Set(['limit', 'afterSeq', 'beforeSeq', 'atSeq', 'expectedSeq', 'life']);
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
/** Parameters that are text or milliseconds. */
const DURATIONS = new Set(['wait', 'threshold', 'grace']);
/** Parameters that are sent once per item, or once with an empty value for an empty list. */
const LISTS = new Set(['status', 'eventType']);
/** Ids for which `null` has the same meaning as `undefined`. */
const NULLABLE = new Set(['requestId', 'sessionId', 'taskId', 'sinceId', 'traceId']);

/** Returns the query string with its question mark. Omits only parameters that are absent. */
export function queryOf(parameters: Parameters): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined || (value === null && NULLABLE.has(name))) continue;
    const isList = LISTS.has(name);
    const items: unknown[] = isList && Array.isArray(value) ? value : [value];
    // An empty value means the empty list.
    if (items.length === 0) parts.push(`${name}=`);
    for (const item of items) {
      const text = isList ? checkId(item, name) : textOf(name, item);
      if (!text.isWellFormed()) throw invalidArgument(name, 'well-formed Unicode text', text);
      parts.push(`${name}=${encodeURIComponent(text)}`);
    }
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

function textOf(name: string, value: unknown): string {
  if (name === 'labels') checkLabelTexts(value);
  if (name === 'labels' || name === 'scope') return JSON.stringify(checkObject(value, name));
  const type = NUMBERS.has(name) ? 'number' : BOOLEANS.has(name) ? 'boolean' : 'string';
  if (typeof value === type || (typeof value === 'number' && DURATIONS.has(name))) return String(value);
  // An append can begin a new life, which has no number yet.
  if (name === 'life' && value === 'new') return value;
  throw invalidArgument(name, `a ${type}`, value);
}
