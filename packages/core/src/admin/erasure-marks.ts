/**
 * Marks that erased sessions leave: when, under the SHA-256 of the session's id and for a limited time. Copies that were
 * made before the erasure follow it by them; the id itself is not kept.
 */

import type { EngineCall } from '../engine/call.ts';
import type { Records } from '../engine/records.ts';
import { sha256Hex } from '../hash.ts';
import type { StoreContext } from '../tools/context.ts';
import { fieldsOf } from '../tools/record-fields.ts';

/** What the keys of the records begin with. */
export const ERASURE_MARKS = 'tidemark.erased.';
const KEPT_FOR_MS = 30 * 24 * 3_600_000;

/** The key of the record that says when a session was erased, in its field `at`. */
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
