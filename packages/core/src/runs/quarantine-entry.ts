/** What an engine stores of a quarantined run: decided without I/O, for every engine alike. */
import type { FoundDamage, StoredQuarantine } from '../engine/quarantines.ts';
import type { RunKey } from '../engine/run-key.ts';

/** The entry that damage leaves behind, and whether it differs from what was there. */
export function entryAfter(
  run: RunKey,
  stored: StoredQuarantine | null,
  damage: FoundDamage,
): { entry: StoredQuarantine; isNew: boolean; isChanged: boolean } {
  const { tenantId, runId } = run;
  const isNew = stored?.state !== 'quarantined';
  if (!isNew && stored.fromSeq <= damage.fromSeq) return { entry: stored, isNew, isChanged: false };
  const fromSeq = Math.min(damage.fromSeq, stored?.fromSeq ?? damage.fromSeq);
  const at = isNew ? damage.at : stored.at;
  return {
    entry: { tenantId, runId, fromSeq, reason: damage.reason, at, state: 'quarantined', release: 0 },
    isNew,
    isChanged: true,
  };
}
