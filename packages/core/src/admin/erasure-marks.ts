/**
 * Erasure marks: records, kept for a limited time under the SHA-256 of an erased session's id, that store when it was
 * erased. Copies made before the erasure use the marks to erase the session too. The id itself is not stored.
 */

import type { EngineCall } from '../engine/call.ts';
import type { Records } from '../engine/records.ts';
import { sha256Hex } from '../hash.ts';
import type { StoreContext } from '../tools/context.ts';
import { fieldsOf } from '../tools/record-fields.ts';

/** The key prefix of the records. */
export const ERASURE_MARKS = 'tidemark.erased.';
const KEPT_FOR_MS = 30 * 24 * 3_600_000;

/** Returns the key of the record whose field `at` stores when a session was erased. */
export function erasureMarkOf(sessionId: string): string {
  return ERASURE_MARKS + sha256Hex(sessionId);
}

export async function markErased(
  { clock }: Pick<StoreContext, 'clock'>,
  records: Records,
  tenantId: string,
  sessionId: string,
  call: EngineCall,
): Promise<void> {
  const name = { space: 'kv', tenantId, key: erasureMarkOf(sessionId) } as const;
  await records.write({ name, mode: 'replace', set: fieldsOf({ at: clock() }), ttlMs: KEPT_FOR_MS }, call);
}
