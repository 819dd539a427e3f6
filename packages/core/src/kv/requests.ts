/**
 * Request ids (GEN-8). A record holds the ids of the last requests that changed it. When newer ids displace an id, or
 * the record is removed, the id is stored separately for a while, so that a retry is still recognised.
 */
import { REMEMBERED_REQUESTS, type RecordName } from '../engine/records.ts';
import { sha256Hex } from '../hash.ts';
import { joinKey } from '../tools/joined-keys.ts';

/** The request ids of a key after a step. */
export interface RequestsAfter {
  /** The ids the record holds, oldest first. */
  held: readonly string[];
  /** The ids it drops, which must be stored separately. */
  left: readonly string[];
}

const NONE: readonly string[] = [];

/**
 * Divides the request ids of a key after a step. A record that is kept holds up to `most`. If there are more, it drops
 * all but the last `REMEMBERED_REQUESTS` at once.
 */
export function requestsAfter(
  before: readonly string[],
  requestId: string | undefined,
  stays: boolean,
  most = REMEMBERED_REQUESTS,
): RequestsAfter {
  if (stays && requestId === undefined && before.length <= most) return { held: before, left: NONE };
  const all = requestId === undefined ? [...before] : [...before, requestId];
  if (!stays) return { held: [], left: all };
  const leaving = all.length > most ? all.length - REMEMBERED_REQUESTS : 0;
  return { held: all.slice(leaving), left: all.slice(0, leaving) };
}

/**
 * Returns the name under which a dropped request id is stored: a hash, because key and id may each have the maximum
 * length.
 */
export function requestName(
  { space, tenantId, key }: { space: string; tenantId: string; key: string },
  requestId: string,
): RecordName {
  return { space: 'requests', tenantId, key: `${requestPrefix(space)}${sha256Hex(joinKey([key, requestId]))}` };
}

/** Returns the key prefix of all stored request ids of a space. */
export function requestPrefix(space: string): string {
  return `${space}/`;
}
