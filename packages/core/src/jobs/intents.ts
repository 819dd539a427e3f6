/**
 * The intent of a claim: the job it will claim, stored under the claim id before the job is claimed. Concurrent retries
 * of the claim coordinate through it. They all claim the same job at the same revision, or find that it was already
 * claimed for them.
 */

import type { EngineCall } from '../engine/call.ts';
import { REQUEST_KEPT_MS, type RecordName, type Records, type RecordWrite } from '../engine/records.ts';
import { requestName, requestPrefix } from '../kv/requests.ts';
import { fieldsOf, textField } from '../tools/record-fields.ts';

/** Longer than a job remembers its claimer, so that a late retry never finds a claimed job without an intent. */
const INTENT_KEPT_MS = 2 * REQUEST_KEPT_MS;

/** A job as it was seen ready. The claim never takes another revision of it. */
export interface Intent {
  key: string;
  revision: number;
}

/** The claim that an intent belongs to. */
export interface IntendedClaim {
  tenantId: string;
  taskType: string;
  claimId: string;
}

/**
 * Ensures that a claim sent earlier, which the engine has not performed yet, will never be performed. Only for engines
 * that choose the job themselves: there the retry cannot name the job of the lost call.
 */
export async function closeClaim(records: Records, claim: IntendedClaim, call: EngineCall): Promise<void> {
  const name = closedName(claim);
  const set = fieldsOf({ answer: 'closed' });
  await records.write({ name, mode: 'replace', expect: { exists: false }, set, ttlMs: INTENT_KEPT_MS }, call);
  await records.awaitClaims?.(claim.tenantId, claim.taskType, call);
}

/** The record that `closeClaim` writes. */
export function closedName({ tenantId, taskType, claimId }: IntendedClaim): RecordName {
  return { space: 'requests', tenantId, key: `${requestPrefix('claims')}${taskType}/${claimId}` };
}

export async function readIntent(records: Records, claim: IntendedClaim, call: EngineCall): Promise<Intent | null> {
  const [record] = await records.get([nameOf(claim)], call);
  const answer = record ? textField(record, 'answer') : null;
  return answer === null ? null : (JSON.parse(answer) as Intent);
}

/** Returns the write that replaces the intent read before; `before` is `null` when there was none. */
export function intentWrite(claim: IntendedClaim, before: Intent | null, intent: Intent): RecordWrite {
  return {
    name: nameOf(claim),
    mode: 'replace',
    expect: { fields: fieldsOf({ answer: before && textOf(before) }) },
    set: fieldsOf({ answer: textOf(intent) }),
    ttlMs: INTENT_KEPT_MS,
  };
}

export function isSameIntent(a: Intent | null, b: Intent | null): boolean {
  return (a && textOf(a)) === (b && textOf(b));
}

function textOf({ key, revision }: Intent): string {
  return JSON.stringify({ key, revision });
}

function nameOf({ tenantId, taskType, claimId }: IntendedClaim) {
  return requestName({ space: 'claims', tenantId, key: taskType }, claimId);
}
