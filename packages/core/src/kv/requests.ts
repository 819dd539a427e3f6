/**
 * Request ids (GEN-8). A record holds the last ones that changed it. Ids that it drops, because newer ones follow or
 * because it is removed, are stored separately for a while, so that a retry is recognised whatever became of the
 * record.
 */
import { REMEMBERED_REQUESTS, type RecordName } from '../engine/records.ts';
import { sha256Hex } from '../hash.ts';
import { joinKey } from '../tools/joined-keys.ts';

/** The request ids of a key after a step. */
export interface RequestsAfter {
  /** The ids the record holds, oldest first. */
  held: string[];
  /** The ids it drops, which must be stored separately. */
  left: string[];
}

/**
 * Divides the request ids of a key after a step. A record that stays holds up to `most`. Beyond that, it drops all but
 * the last `REMEMBERED_REQUESTS` at once.
 */
export function requestsAfter(
  before: readonly string[],
  requestId: string | undefined,
  stays: boolean,
  most = REMEMBERED_REQUESTS,
): RequestsAfter {
  const all = requestId === undefined ? [...before] : [...before, requestId];
  if (!stays) return { held: [], left: all };
  const leaving = all.length > most ? all.length - REMEMBERED_REQUESTS : 0;
  return { held: all.slice(leaving), left: all.slice(0, leaving) };
}

/**
 * Returns the name under which a dropped request id is stored: a hash, since key and id may each be of maximum length.
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
