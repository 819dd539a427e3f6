/**
 * The requests that changed a memory state, each with the version it was given, which a retry is answered with. A state holds
 * the recent ones itself; when they are too many, those that leave are kept beside it for as long as they may be retried.
 */
import { REMEMBERED_REQUESTS, REQUEST_KEPT_MS, type RecordName } from '../engine/records.ts';
import { requestName } from '../kv/requests.ts';

/** How many requests a state holds: about as many as come in five minutes at one a few seconds. */
const MOST_HELD = 64;

/** How long the version of a deleted state is remembered, so that none comes twice. */
export const VERSION_KEPT_MS = 24 * 3_600_000;

/** A request as a state holds it; those of older stores have no time. */
export type MemoryRequest = [requestId: string, version: number, at?: number];

/** The requests of a state after one more, oldest first; `left` have to be kept beside it. */
export function memoryRequestsAfter(
  before: readonly MemoryRequest[],
  request: MemoryRequest,
  now: number,
): { held: MemoryRequest[]; left: MemoryRequest[] } {
  const all = [...before, request];
  const first = all.length - REMEMBERED_REQUESTS;
  const recent = all.filter(([, , at = now], index) => index >= first || at > now - REQUEST_KEPT_MS);
  if (recent.length <= MOST_HELD) return { held: recent, left: [] };
  return { held: recent.slice(-REMEMBERED_REQUESTS), left: recent.slice(0, -REMEMBERED_REQUESTS) };
}

/** The version that a request was given, when the state still holds it. */
export function versionOfRequest(requests: readonly MemoryRequest[], requestId: string): number | undefined {
  return requests.find(([id]) => id === requestId)?.[1];
}

/** Where a request is kept that has left its state; the answer is its version. */
export function memoryRequestName(tenantId: string, key: string, requestId: string): RecordName {
  return requestName({ space: 'memory', tenantId, key }, requestId);
}
