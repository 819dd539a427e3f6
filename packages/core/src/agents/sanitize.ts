/**
 * `sanitizeSteering`: makes an untrusted payload small and plain before it is stored (AGT-8). The result is within
 * every limit, marks truncated parts, and does not change when it is sanitised again.
 */
import type { JsonObject, JsonValue } from '../contracts/common.ts';

/** The limits of a payload in each dimension. */
interface Limits {
  depth: number;
  keys: number;
  items: number;
  /** Code points per text. */
  text: number;
}

/** The limits of a stored steering payload. */
export const STEERING_LIMITS = { bytes: 16_384, depth: 6, keys: 64, items: 50, text: 4_096, key: 64 } as const;

const CUT = '…[truncated]';
const CUT_KEY = '__truncated__';

/**
 * Limits to try in order until the JSON text fits: texts shrink first, structure last. The last step cannot exceed 8 ×
 * (a key and a string of 64 code points, 4 bytes each), so it always fits.
 */
const STEPS: readonly Limits[] = [
  STEERING_LIMITS,
  { ...STEERING_LIMITS, text: 2_048 },
  { ...STEERING_LIMITS, text: 1_024 },
  { ...STEERING_LIMITS, text: 512 },
  { ...STEERING_LIMITS, text: 256 },
  { depth: 6, keys: 32, items: 25, text: 128 },
  { depth: 5, keys: 16, items: 12, text: 64 },
  { depth: 4, keys: 8, items: 8, text: 64 },
  { depth: 3, keys: 8, items: 8, text: 64 },
  { depth: 2, keys: 8, items: 8, text: 64 },
  { depth: 1, keys: 8, items: 8, text: 64 },
];

/** Control characters except tab and line ends, bidirectional overrides and isolates, and tag characters. */
const HOSTILE = /(?![\t\n\r])[\p{Cc}\u202A-\u202E\u2066-\u2069\u{E0000}-\u{E007F}]/gu;

/**
 * Reduces a payload to `STEERING_LIMITS`. Removes control, bidirectional and tag characters from texts. Marks what it
 * truncates: a string ends with `…[truncated]`, a list has it as its last item, an object has `__truncated__: true`.
 */
export function sanitizeSteering(payload: JsonObject): JsonObject;
export function sanitizeSteering(payload: JsonValue): JsonValue;
export function sanitizeSteering(payload: unknown): unknown {
  let clean = payload;
  for (const limits of STEPS) {
    clean = cleanValue(clean, limits, 1);
    if (Buffer.byteLength(JSON.stringify(clean)) <= STEERING_LIMITS.bytes) break;
  }
  return clean;
}

function cleanValue(value: unknown, limits: Limits, depth: number): JsonValue {
  switch (typeof value) {
    case 'string':
      return cut(cleanText(value), limits.text, CUT);
    case 'number':
    case 'boolean':
      return value;
    case 'object':
      if (value === null) return null;
      if (depth > limits.depth) return CUT;
      return Array.isArray(value) ? cleanList(value, limits, depth) : cleanObject(value as JsonObject, limits, depth);
    default:
      return null;
  }
}

function cleanList(list: readonly unknown[], limits: Limits, depth: number): JsonValue[] {
  const fits = list.length <= limits.items;
  const kept = (fits ? list : list.slice(0, limits.items - 1)).map((item) => cleanValue(item, limits, depth + 1));
  return fits ? kept : [...kept, CUT];
}

function cleanObject(object: JsonObject, limits: Limits, depth: number): Record<string, JsonValue> {
  const present = Object.keys(object).filter((key) => object[key] !== undefined);
  const fits = present.length <= limits.keys;
  const kept = fits ? present : present.filter((key) => key !== CUT_KEY).slice(0, limits.keys - 1);
  const names = cleanKeys(kept, fits ? [] : [CUT_KEY]);
  const entries = kept.map((key, index): [string, JsonValue] => [
    names[index]!,
    cleanValue(object[key], limits, depth + 1),
  ]);
  if (!fits) entries.push([CUT_KEY, true]);
  // `fromEntries` defines properties, so `__proto__` is an ordinary key.
  return Object.fromEntries(entries);
}

/**
 * Returns clean, distinct names for the keys of one object. Keys that are already clean keep their names, so that a
 * disguised key (`role` with an invisible character) can never replace the real one.
 */
function cleanKeys(keys: readonly string[], reserved: readonly string[]): string[] {
  const cleaned = keys.map((key) => cut(cleanText(key), STEERING_LIMITS.key, '…'));
  const taken = new Set(reserved);
  for (const [index, key] of keys.entries()) if (cleaned[index] === key) taken.add(key);
  return cleaned.map((name, index) => {
    if (name === keys[index]) return name;
    let free = name;
    for (let n = 2; taken.has(free); n++) free = `${cut(name, STEERING_LIMITS.key - `~${n}`.length, '')}~${n}`;
    taken.add(free);
    return free;
  });
}

/** Makes the text well-formed first, so that removing characters between two lone surrogates does not join them. */
function cleanText(text: string): string {
  return text.toWellFormed().replace(HOSTILE, '');
}

/** Truncates a string to a number of code points, including the mark. */
function cut(text: string, most: number, mark: string): string {
  if (text.length <= most) return text;
  // A code point has at most two code units, so this slice is enough, however long the text is.
  const points = Array.from(text.slice(0, 2 * most + 1));
  return points.length <= most ? text : points.slice(0, most - mark.length).join('') + mark;
}
