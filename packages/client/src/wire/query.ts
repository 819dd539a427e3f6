/** Query parameters from call arguments: what could not be told from a right one at the other end is refused here. */
import { invalidArgument } from '@tidemark/core/portable';

export type Parameters = Record<string, unknown>;

const NUMBERS = new Set(['limit', 'afterSeq', 'atSeq', 'expectedSeq']);
const DURATIONS = new Set(['wait', 'threshold', 'grace']);
/** Sent as JSON. */
const OBJECTS = new Set(['labels', 'scope', 'filter']);

/** The query text, with its question mark; parameters that are `undefined` are left out. */
export function queryOf(parameters: Parameters): string {
  const parts: string[] = [];
  for (const [name, value] of Object.entries(parameters)) {
    if (value === undefined) continue;
    if (OBJECTS.has(name)) parts.push(part(name, JSON.stringify(value)));
    else if (Array.isArray(value)) for (const item of value) parts.push(part(name, textOf(name, item)));
    else parts.push(part(name, textOf(name, value)));
  }
  return parts.length === 0 ? '' : `?${parts.join('&')}`;
}

function part(name: string, text: string): string {
  if (!text.isWellFormed()) throw invalidArgument(name, 'well-formed Unicode text', text);
  return `${name}=${encodeURIComponent(text)}`;
}

function textOf(name: string, value: unknown): string {
  if (NUMBERS.has(name)) {
    if (typeof value === 'number') return String(value);
    throw invalidArgument(name, 'a number', value ?? null);
  }
  if (typeof value === 'string' || typeof value === 'boolean') return String(value);
  if (typeof value === 'number' && DURATIONS.has(name)) return String(value);
  throw invalidArgument(name, 'a text', value ?? null);
}
