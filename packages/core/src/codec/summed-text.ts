/**
 * Checksums of documents. A document is JSON text, and JSON allows white space at its end: the sum stands there, as 16 spaces,
 * tabs and line ends after a line end. It stays JSON to databases, to people and to versions that know nothing of sums.
 */

import { corruptValue } from '../checks/damage.ts';
import { decodeJson } from '../checks/json.ts';
import { sumNames, sumText } from '../checks/sums.ts';
import type { PayloadContext, PayloadKind } from '../contracts/codec.ts';

/** Kinds that carry a sum. Events have their chain; projections and artifact bytes are summed by the engine. */
const SUMMED: ReadonlySet<PayloadKind> = new Set([
  'flow-event',
  'planner-event',
  'pause',
  'memory',
  'task',
  'update',
  'steering',
  'trajectory',
  'artifact',
]);

const DIGITS = ' \t\n\r';
const DIGIT_COUNT = 16;
const SUM_LENGTH = DIGIT_COUNT + 1;

/** Four digits per byte. */
const BYTES = Array.from({ length: 256 }, (_, byte) =>
  [6, 4, 2, 0].map((shift) => DIGITS[(byte >>> shift) & 3]!).join(''),
);

export function isSummed({ kind }: PayloadContext): boolean {
  return SUMMED.has(kind);
}

/** The text with its sum; `beside` are values stored beside it, which the sum covers too. */
export function withSum(text: string, place: PayloadContext, beside: string): string {
  return `${text}\n${digitsOf(sumOf(text, place, beside))}`;
}

/** The text without its sum, which must be right if there is one. A text from before sums has none. */
export function checkedText(stored: string, place: PayloadContext, beside: string): string {
  // A flipped bit of a SQLite row can turn text into bytes.
  if (typeof stored !== 'string') throw damaged(place);
  const length = trailingSpace(stored);
  if (length === 0) return stored;
  const text = stored.slice(0, stored.length - SUM_LENGTH);
  if (length === SUM_LENGTH && stored.endsWith(digitsOf(sumOf(text, place, beside)))) return text;
  throw damaged(place);
}

/** Whether a stored text carries a sum. */
export function hasSum(stored: string): boolean {
  return trailingSpace(stored) > 0;
}

/** The value of a text; one that is no JSON, and has no sum to tell so, is damaged as well. */
export function checkedJson<T>(text: string, place: PayloadContext): T {
  try {
    return decodeJson<T>(text);
  } catch (error) {
    throw damaged(place, error);
  }
}

function sumOf(text: string, { tenantId, kind, owner, item }: PayloadContext, beside: string): number {
  return sumText(text, sumNames([kind, tenantId, owner, item ?? '', beside]));
}

function digitsOf(sum: number): string {
  return BYTES[sum >>> 24]! + BYTES[(sum >>> 16) & 0xff]! + BYTES[(sum >>> 8) & 0xff]! + BYTES[sum & 0xff]!;
}

/** How many characters of white space a text ends with, counted no further than one more than a sum has. */
function trailingSpace(text: string): number {
  let length = 0;
  while (length <= SUM_LENGTH && DIGITS.includes(text.charAt(text.length - 1 - length)) && length < text.length)
    length++;
  return length;
}

function damaged({ kind, owner, item }: PayloadContext, cause?: unknown) {
  return corruptValue(kind, item === undefined ? owner : `${owner} / ${item}`, cause);
}
