/**
 * The port that keeps which runs are quarantined. The store in `runs/` finds the damage and decides; the engine keeps one
 * entry for a run, changes it only from what the caller saw, and hands out the numbers of releases in the order they commit.
 */
import type { EngineCall } from './call.ts';
import type { RunKey } from './run-key.ts';

/** The entry of a run. */
export interface StoredQuarantine extends RunKey {
  /** The first sequence that is passed over, and the one a release begins with. */
  fromSeq: number;
  reason: string;
  /** Milliseconds. */
  at: number;
  state: 'quarantined' | 'released';
  /** The number of its release; 0 until it is released. */
  release: number;
}

/** Damage that was found. */
export type FoundDamage = Pick<StoredQuarantine, 'fromSeq' | 'reason' | 'at'>;

/** What a reader of the feed needs to know. */
export interface CurrentQuarantines {
  /** The highest number of a release that can be seen; 0 where there is none. */
  newest: number;
  /** Every quarantined run, and the released ones whose number is higher than the one asked for. */
  entries: readonly StoredQuarantine[];
}

export interface QuarantineQuery {
  tenantId?: string;
  state?: StoredQuarantine['state'];
  /** The run the previous page ended with. */
  after?: RunKey;
  limit: number;
}

export interface QuarantineEngine {
  /**
   * Reads before each page of the feed what is quarantined, and what was released after a number; with `null` only what
   * is quarantined. `newest` is never higher than what the entries show: a run that is released between two reads of
   * the engine must count as quarantined or as not released yet. One small read while nothing is quarantined.
   */
  current(tenantId: string | null, afterRelease: number | null, call: EngineCall): Promise<CurrentQuarantines>;
  /** Entries in byte order of (tenant, run). */
  list(query: QuarantineQuery, call: EngineCall): Promise<StoredQuarantine[]>;
  find(run: RunKey, call: EngineCall): Promise<StoredQuarantine | null>;
  /**
   * Quarantines a run. An entry that is there keeps the lower `fromSeq`; a released one becomes quarantined again.
   * `isNew` is false where the run was quarantined already.
   */
  put(run: RunKey, damage: FoundDamage, call: EngineCall): Promise<{ entry: StoredQuarantine; isNew: boolean }>;
  /**
   * Releases an entry under the next number of the store, if it is still what the caller saw, else returns `null`. A
   * number is seen only when all lower ones are, and no number is used twice, not even after entries were removed.
   */
  release(seen: StoredQuarantine, call: EngineCall): Promise<StoredQuarantine | null>;
  /** Removes the entry of a run, if there is one. */
  remove(run: RunKey, call: EngineCall): Promise<void>;
}
