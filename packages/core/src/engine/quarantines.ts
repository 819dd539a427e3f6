/**
 * The port that stores which runs are quarantined. The store in `runs/` finds the damage and decides. The engine stores
 * one entry per run, changes it only from the state the caller saw, and numbers releases in the order they commit.
 */
import type { EngineCall } from './call.ts';
import type { RunKey } from './run-key.ts';

/** The quarantine entry of a run. */
export interface StoredQuarantine extends RunKey {
  /** The first sequence that the feed skips, and the first one that it yields after a release. */
  fromSeq: number;
  reason: string;
  /** Milliseconds. */
  at: number;
  state: 'quarantined' | 'released';
  /** The number of the release; 0 while the run is quarantined. */
  release: number;
  /**
   * The number of the quarantine, from the same counter as `release`. Readers of notices find the quarantine by it. 0
   * if an older version quarantined the run.
   */
  notice: number;
}

/** Damage found in a run. */
export type FoundDamage = Pick<StoredQuarantine, 'fromSeq' | 'reason' | 'at'>;

/** The quarantines that concern a reader of the feed. */
export interface CurrentQuarantines {
  /** The highest visible release number; 0 before the first release. */
  newest: number;
  /** Every quarantined run, and the released runs whose number is above `afterRelease`. */
  entries: readonly StoredQuarantine[];
}

export interface QuarantineQuery {
  tenantId?: string;
  state?: StoredQuarantine['state'];
  /** The last run of the previous page. */
  after?: RunKey;
  limit: number;
}

export interface QuarantineEngine {
  /**
   * Returns the quarantined runs and the runs released after a number; with `null` only the quarantined ones. Called
   * before each page of the feed, so it must be one small read while nothing is quarantined. `newest` must never exceed
   * the releases in `entries`: a run released between two reads of the engine must count as quarantined or as not yet
   * released.
   */
  current(tenantId: string | null, afterRelease: number | null, call: EngineCall): Promise<CurrentQuarantines>;
  /** Lists entries in byte order of (tenant, run). */
  list(query: QuarantineQuery, call: EngineCall): Promise<StoredQuarantine[]>;
  /** Returns the entry of a run, or `null`. */
  find(run: RunKey, call: EngineCall): Promise<StoredQuarantine | null>;
  /**
   * Quarantines a run, under the store's next number if it was not quarantined. An existing entry keeps the lower
   * `fromSeq`; a released entry becomes quarantined again. `isNew` is false when the run was already quarantined.
   */
  put(run: RunKey, damage: FoundDamage, call: EngineCall): Promise<{ entry: StoredQuarantine; isNew: boolean }>;
  /**
   * Releases an entry under the store's next number, or returns `null` when the entry has changed since the caller saw
   * it. A number becomes visible only after all lower ones, and no number is used twice, even after entries are
   * removed.
   */
  release(seen: StoredQuarantine, call: EngineCall): Promise<StoredQuarantine | null>;
  /** Removes the entry of a run, if any. */
  remove(run: RunKey, call: EngineCall): Promise<void>;
}
