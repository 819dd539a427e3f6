/**
 * Request ids (GEN-8). A record holds the last ones that changed it. Those that leave it, pushed out by newer ones or with the
 * record itself, are kept beside it for a while, so that a retry is recognised whatever became of the record.
 */
import { REMEMBERED_REQUESTS, type RecordName } from '../engine/records.ts';
import { sha256Hex } from '../hash.ts';
import { joinKey } from '../tools/joined-keys.ts';

/** The request ids of a key after a step. */
export interface RequestsAfter {
  /** Those the record holds, oldest first. */
  held: string[];
  /** Those that leave it and have to be kept beside it. */
  left: string[];
}

/**
 * Divides the request ids of a key after a step. A record that stays holds up to `most`; when they are more, all but the
 * last `REMEMBERED_REQUESTS` leave at once.
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

/** Where a request id is kept that has left its record: under a hash, since both may be as long as a key can be. */
export function requestName(
  { space, tenantId, key }: { space: string; tenantId: string; key: string },
  requestId: string,
): RecordName {
  return { space: 'requests', tenantId, key: `${requestPrefix(space)}${sha256Hex(joinKey([key, requestId]))}` };
}

/** How the keys of all request ids of a space begin. */
export function requestPrefix(space: string): string {
  return `${space}/`;
}
