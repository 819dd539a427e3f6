/**
 * The journal primitive of keyed engines: a named, append-only list with unique keys. A writer appends against the head
 * it knows. When the head has moved or a key is already stored, nothing is written and the current head is returned, so
 * that the writer can decide again.
 */
import type { EngineCall } from './call.ts';

/** The purpose of a journal. Spaces are independent of each other. */
export type JournalSpace = 'runs' | 'events' | 'updates' | 'steering' | 'plannerEvents';

export interface JournalName {
  space: JournalSpace;
  tenantId: string;
  name: string;
}

/** The metadata of a journal. */
export interface JournalHead {
  /** The sequence of the last entry. */
  seq: number;
  /** The engine's clock at the first and last commit, in milliseconds. The last never decreases. */
  createdAt: number;
  updatedAt: number;
  /** Opaque text of the journal's owner, replaced by each commit. */
  state: string;
  /**
   * Increases whenever stored entries change: by one with each rewrite, and past every earlier value with each restore.
   * A removed journal keeps it until it is forgotten.
   */
  rewrites: number;
}

export interface JournalEntry {
  /** 1, 2, 3, … */
  seq: number;
  /** The engine's clock at the commit, in milliseconds. */
  time: number;
  key: string;
  body: string;
}

/** Entries to append, with the state of the journal that the writer knows. */
export interface JournalCommit {
  /** The last sequence that the writer knows. */
  known: number;
  rewrites?: number;
  state: string;
  entries: readonly { key: string; body: string }[];
}

/** A successful commit, or the current head and the entries whose keys are already stored. */
export type JournalOutcome =
  | { committed: true; time: number }
  | { committed: false; head: JournalHead | null; tombstone: string | null; found: JournalEntry[] };

export interface RemoveOptions extends EngineCall {
  expectedSeq?: number;
  expectedRewrites?: number;
  keepsName?: boolean;
}

/** One step of restoring a journal. */
export interface JournalRestore {
  /** The current tombstone, and how many entries earlier steps restored. */
  known: { tombstone: string | null; seq: number };
  /** The tombstone to keep until the last step. */
  tombstone: string;
  /** The next entries, with their own sequences and times. */
  entries: readonly JournalEntry[];
  /** The head at the last entry of the last step. The restored journal's `rewrites` must exceed this one's. */
  head: JournalHead;
  isLast: boolean;
}

/** The position of a journal in lists. */
export interface JournalPosition {
  createdAt: number;
  tenantId: string;
  name: string;
}

/** A part of a list of journals. */
export interface JournalRange {
  tenantId?: string;
  order: 'newest' | 'oldest';
  after?: JournalPosition;
  limit: number;
}

export interface Journal {
  /** Returns head and tombstone. While a journal is being restored it has both, and the head shows the progress. */
  head(name: JournalName, call: EngineCall): Promise<{ head: JournalHead | null; tombstone: string | null }>;
  /**
   * Appends if the last sequence is `known` and none of the keys is stored. With `rewrites`, only while the head has
   * that value: a restore may have put back another history that ends at the same sequence.
   */
  commit(name: JournalName, commit: JournalCommit, call: EngineCall): Promise<JournalOutcome>;
  /** Returns the entries after a sequence, in order. */
  read(name: JournalName, afterSeq: number, limit: number, call: EngineCall): Promise<JournalEntry[]>;
  /** Returns the entry of each key, `null` where it is missing. */
  find(name: JournalName, keys: readonly string[], call: EngineCall): Promise<(JournalEntry | null)[]>;
  /**
   * Removes the journal, or what was restored of it so far, and returns the number of entries it had. A tombstone, if
   * given, refuses every later commit. With `expectedSeq`, removes only a whole journal whose last sequence is that,
   * else throws `SEQ_CONFLICT`. With `expectedRewrites`, removes only while that is its `rewrites`, else throws
   * `CONFLICT`. With `keepsName`, `tenantsOf` continues to find it.
   */
  remove(name: JournalName, tombstone: string | null, options: RemoveOptions): Promise<number>;
  /**
   * Restores entries after those of earlier steps. The last step makes them all visible and passes them through the
   * feed. Returns false and does nothing when the journal is live or not in the state that `known` describes.
   */
  restore(name: JournalName, step: JournalRestore, call: EngineCall): Promise<boolean>;
  /**
   * Replaces the body of an entry for good, wherever it is stored, and moves `rewrites` in the same step. Returns false
   * and does nothing when the entry is missing or its body is not `from`.
   */
  rewrite(name: JournalName, seq: number, body: { from: string; to: string }, call: EngineCall): Promise<boolean>;
  /** Removes the journal with its tombstone and leaves nothing of it. Returns how many entries it had. */
  forget(name: JournalName, call: EngineCall): Promise<number>;
  /** Lists tenants that have a journal or a tombstone in a space, in byte order, after a given one. */
  tenants(space: JournalSpace, after: string | null, limit: number, call: EngineCall): Promise<string[]>;
  /** Lists the names of a tenant's journals and tombstones in byte order, after a given one. */
  names(
    space: JournalSpace,
    tenantId: string,
    after: string | null,
    limit: number,
    call: EngineCall,
  ): Promise<string[]>;
  /** Removes what remains of a tenant after all its journals are forgotten, such as positions in the feed. */
  clear(space: JournalSpace, tenantId: string, call: EngineCall): Promise<void>;
  /** Returns tenants with a journal of this name: live, being restored, or removed with `keepsName`. Two are enough. */
  tenantsOf(space: JournalSpace, name: string, call: EngineCall): Promise<string[]>;
  /** Lists live journals by (createdAt, tenantId, name), after a given one. */
  list(space: JournalSpace, range: JournalRange, call: EngineCall): Promise<{ name: JournalName; head: JournalHead }[]>;
  /** Returns entries of all journals of a space in the order of commits, after a cursor. */
  feed(
    space: JournalSpace,
    after: string | null,
    limit: number,
    call: EngineCall,
  ): Promise<{ cursor: string; name: JournalName; entry: JournalEntry }[]>;
  /** Waits for a commit to one journal, or to any of a space. A hint: it may resolve early and may miss a commit. */
  wait(space: JournalSpace, name: JournalName | null, call: EngineCall): Promise<void>;
}
