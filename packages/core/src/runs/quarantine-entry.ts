/** Decides, without I/O, which quarantine entry to store. Shared by all engines. */
import type { FoundDamage, StoredQuarantine } from '../engine/quarantines.ts';
import type { RunKey } from '../engine/run-key.ts';

/**
 * Returns the entry to store after damage was found, and whether it is new or differs from the stored one. `number` is
 * the next number of the store, for a run that was not quarantined.
 */
export function entryAfter(
  run: RunKey,
  stored: StoredQuarantine | null,
  damage: FoundDamage,
  number: number,
): { entry: StoredQuarantine; isNew: boolean; isChanged: boolean } {
  const { tenantId, runId } = run;
  const isNew = stored?.state !== 'quarantined';
  if (!isNew && stored.fromSeq <= damage.fromSeq) return { entry: stored, isNew, isChanged: false };
  const fromSeq = Math.min(damage.fromSeq, stored?.fromSeq ?? damage.fromSeq);
  const at = isNew ? damage.at : stored.at;
  const notice = isNew ? number : stored.notice;
  return {
    entry: { tenantId, runId, fromSeq, reason: damage.reason, at, state: 'quarantined', release: 0, notice },
    isNew,
    isChanged: true,
  };
}
