/**
 * Checksums of documents. A document is JSON text, and JSON allows white space at its end, so the sum is appended as a
 * line feed and 16 white-space characters. The text is still valid JSON for databases, people and older versions.
 */

import { corruptValue } from '../checks/damage.ts';
import { decodeJson } from '../checks/json.ts';
import { sumNames, sumText } from '../checks/sums.ts';
import type { PayloadContext, PayloadKind } from '../contracts/codec.ts';

/** Kinds with a sum. Events have their chain; the engine sums projections and artifact bytes. */
const SUMMED: ReadonlySet<PayloadKind> = new Set([
  'flow-event',
  'planner-event',
  'pause',
  'memory',
  'task',
  'update',
  'steering',
  'trajectory',
  'binding',
  'artifact',
]);

const DIGITS = ' \t\n\r';
const DIGIT_COUNT = 16;
const SUM_LENGTH = DIGIT_COUNT + 1;

/** The four digits of each byte. */
const BYTES = Array.from({ length: 256 }, (_, byte) =>
  [6, 4, 2, 0].map((shift) => DIGITS[(byte >>> shift) & 3]!).join(''),
);

export function isSummed({ kind }: PayloadContext): boolean {
  return SUMMED.has(kind);
}

/** Returns the text with its sum. The sum also covers `otherValues`, the other values of the row. */
export function withSum(text: string, context: PayloadContext, otherValues: string): string {
  return `${text}\n${encodeSum(sumOf(text, context, otherValues))}`;
}

/**
 * Returns the text without its sum. Throws `CORRUPT_VALUE` for a wrong sum. Texts that older versions stored have no
 * sum.
 */
export function checkedText(stored: string, context: PayloadContext, otherValues: string): string {
  // A flipped bit in a SQLite row can turn text into bytes.
  if (typeof stored !== 'string') throw damaged(context);
  const length = trailingSpace(stored);
  if (length === 0) return stored;
  const text = stored.slice(0, stored.length - SUM_LENGTH);
  if (length === SUM_LENGTH && stored.endsWith(encodeSum(sumOf(text, context, otherValues)))) return text;
  throw damaged(context);
}

/** Whether a stored text has a sum. */
export function hasSum(stored: string): boolean {
  return trailingSpace(stored) > 0;
}

/** Parses a string. Throws `CORRUPT_VALUE` if it is not JSON, which is the only sign of damage if there is no sum. */
export function checkedJson<T>(text: string, context: PayloadContext): T {
  try {
    return decodeJson<T>(text);
  } catch (error) {
    throw damaged(context, error);
  }
}

function sumOf(text: string, { tenantId, kind, owner, item }: PayloadContext, otherValues: string): number {
  return sumText(text, sumNames([kind, tenantId, owner, item ?? '', otherValues]));
}

function encodeSum(sum: number): string {
  return BYTES[sum >>> 24]! + BYTES[(sum >>> 16) & 0xff]! + BYTES[(sum >>> 8) & 0xff]! + BYTES[sum & 0xff]!;
}

/** Returns the number of white-space characters at the end of the text, counting at most one more than a sum has. */
function trailingSpace(text: string): number {
  let length = 0;
  while (length <= SUM_LENGTH && DIGITS.includes(text.charAt(text.length - 1 - length)) && length < text.length)
    length++;
  return length;
}

function damaged({ kind, owner, item }: PayloadContext, cause?: unknown) {
  return corruptValue(kind, item === undefined ? owner : `${owner} / ${item}`, cause);
}
