/** Bounds of scans: combines prefix, range and position into a lowest and a highest key (KV-4). */
import type { ScanRange } from '../engine/records.ts';
import { compareKeys } from './order.ts';

/** The keys of a scan, in byte order. */
export interface KeyBounds {
  low: string;
  /** Whether `low` itself belongs to the scan. */
  lowIncluded: boolean;
  /** The first key above the scan; `null` means that the scan has no upper bound. */
  high: string | null;
}

/** Returns the bounds of the remaining part of a scan. */
export function boundsOf({ prefix, from, to, after, reverse }: Omit<ScanRange, 'limit' | 'keysOnly'>): KeyBounds {
  const bounds: KeyBounds = { low: prefix, lowIncluded: true, high: endOfPrefix(prefix) };
  if (from && compareKeys(from, bounds.low) > 0) bounds.low = from;
  if (to) lower(bounds, to);
  if (after === null) return bounds;
  if (reverse) lower(bounds, after);
  else if (compareKeys(after, bounds.low) >= 0) Object.assign(bounds, { low: after, lowIncluded: false });
  return bounds;
}

function lower(bounds: KeyBounds, high: string): void {
  if (bounds.high === null || compareKeys(high, bounds.high) < 0) bounds.high = high;
}

/** Yields keys of a sorted list that lie within bounds, in the direction of the scan. */
export function* keysWithin(
  keys: { from(start: string): Iterable<string>; below(end?: string): Iterable<string> },
  { low, lowIncluded, high }: KeyBounds,
  reverse = false,
): Generator<string, void, undefined> {
  for (const key of reverse ? keys.below(high ?? undefined) : keys.from(low)) {
    const isPast = reverse ? compareKeys(key, low) < 0 : high !== null && compareKeys(key, high) >= 0;
    if (isPast) return;
    if (lowIncluded || key !== low) yield key;
  }
}

/**
 * Returns the lowest text above all that start with the prefix, or `null` if there is none. UTF-8 sorts by code points.
 */
function endOfPrefix(prefix: string): string | null {
  const lastUnit = prefix.charCodeAt(prefix.length - 1);
  // Almost every prefix ends like this, and dividing it into code points costs as much as the rest of a short scan.
  if (lastUnit < 0xd7ff) return prefix.slice(0, -1) + String.fromCharCode(lastUnit + 1);
  const points = Array.from(prefix, (character) => character.codePointAt(0)!);
  for (let last = points.pop(); last !== undefined; last = points.pop()) {
    if (last === 0x10ffff) continue;
    // The code points from U+D800 onwards are surrogates, which are not valid in text.
    points.push(last === 0xd7ff ? 0xe000 : last + 1);
    return String.fromCodePoint(...points);
  }
  return null;
}
