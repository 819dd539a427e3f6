/**
 * The identity of events without an id (AGT-2, AGT-10): a hash of all their fields, independent of the order of keys.
 * It never equals an id chosen by a caller.
 */
import { sha256Hex } from '../hash.ts';

/** Returns the id of an event within its trace: the caller's, or the fingerprint of its fields. */
export function eventIdentity(eventId: string | null, fields: readonly unknown[]): string {
  return eventId === null ? `f:${sha256Hex(canonicalJson(fields))}` : `e:${eventId}`;
}

/** Returns JSON text with the keys of every object sorted. The value has passed `encodeJson`. */
function canonicalJson(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join()}]`;
  const object = value as Record<string, unknown>;
  const members = Object.keys(object)
    .filter((key) => object[key] !== undefined)
    .sort()
    .map((key) => `${JSON.stringify(key)}:${canonicalJson(object[key])}`);
  return `{${members.join()}}`;
}
