/**
 * The requests that changed a memory state. Each has the version it produced, which a retry returns. A state holds its
 * recent requests itself. Older requests are stored separately for as long as they may be retried.
 */
import { REMEMBERED_REQUESTS, REQUEST_KEPT_MS, type RecordName } from '../engine/records.ts';
import { requestName } from '../kv/requests.ts';

/** The maximum number of requests in a state: about five minutes' worth at one every few seconds. */
const MAX_HELD = 64;

/** How long the version of a deleted state is remembered, so that no version is used twice. */
export const VERSION_KEPT_MS = 24 * 3_600_000;

/** A request held by a state. Requests that older versions stored have no time. */
export type MemoryRequest = [requestId: string, version: number, at?: number];

/** Returns a state's requests after one more, oldest first. The requests in `left` must be stored separately. */
export function memoryRequestsAfter(
  before: readonly MemoryRequest[],
  request: MemoryRequest,
  now: number,
): { held: MemoryRequest[]; left: MemoryRequest[] } {
  const all = [...before, request];
  const first = all.length - REMEMBERED_REQUESTS;
  const recent = all.filter(([, , at = now], index) => index >= first || at > now - REQUEST_KEPT_MS);
  if (recent.length <= MAX_HELD) return { held: recent, left: [] };
  return { held: recent.slice(-REMEMBERED_REQUESTS), left: recent.slice(0, -REMEMBERED_REQUESTS) };
}

/** Returns the version a request produced, if the state still holds it. */
export function versionOfRequest(requests: readonly MemoryRequest[], requestId: string): number | undefined {
  return requests.find(([id]) => id === requestId)?.[1];
}

/** Returns the name under which a dropped request is stored. The record holds its version. */
export function memoryRequestName(tenantId: string, key: string, requestId: string): RecordName {
  return requestName({ space: 'memory', tenantId, key }, requestId);
}
