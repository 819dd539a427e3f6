/**
 * The journal primitive of keyed engines: a named, append-only list with unique keys. A writer appends against
 * the head it knows; when the head has moved or a key is there already, nothing is written and the newer head
 * comes back, so that the writer can decide again.
 */
import type { EngineCall } from './call.ts';

/** What a journal is for; spaces never meet. */
export type JournalSpace = 'runs' | 'events' | 'updates' | 'steering' | 'plannerEvents';

export interface JournalName {
  space: JournalSpace;
  tenantId: string;
  name: string;
}

/** What is known of a journal. */
export interface JournalHead {
  /** Of the last entry. */
  seq: number;
  /** Engine's clock at the first and last commit, in milliseconds; the last never decreases. */
  createdAt: number;
  updatedAt: number;
  /** Kept for the journal's owner, replaced with each commit. */
  state: string;
  /**
   * Moves whenever stored entries change: by one with each rewrite, and past every earlier value with each restore. A
   * journal that was removed keeps it until it is forgotten.
   */
  rewrites: number;
}

export interface JournalEntry {
  /** 1, 2, 3, … */
  seq: number;
  /** Engine's clock at the commit, in milliseconds. */
  time: number;
  key: string;
  body: string;
}

/** Entries to append to the journal as the writer knows it. */
export interface JournalCommit {
  known: number;
  rewrites?: number;
  state: string;
  entries: readonly { key: string; body: string }[];
}

/** A commit that was taken, or the head as it stands and those of the keys that are stored already. */
export type JournalOutcome =
  | { committed: true; time: number }
  | { committed: false; head: JournalHead | null; tombstone: string | null; found: JournalEntry[] };

export interface RemoveOptions extends EngineCall {
  expectedSeq?: number;
  expectedRewrites?: number;
  keepsName?: boolean;
}

/** A step of putting a journal back. */
export interface JournalRestore {
  /** The tombstone that stands in its place, and how many entries were put back before. */
  known: { tombstone: string | null; seq: number };
  /** Stands in its place until the last step. */
  tombstone: string;
  /** Those that follow, with their own sequences and times. */
  entries: readonly JournalEntry[];
  /** As of the last entry of the last step; its `rewrites` is a value that the restored journal moves past. */
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
  /** While a journal is put back, it has a tombstone and a head that tells how far that is. */
  head(name: JournalName, call: EngineCall): Promise<{ head: JournalHead | null; tombstone: string | null }>;
  /**
   * Appends if the last sequence is `known` and none of the keys is stored. With `rewrites` only while that is the
   * head's: another history may have been restored that ends at the same sequence.
   */
  commit(name: JournalName, commit: JournalCommit, call: EngineCall): Promise<JournalOutcome>;
  /** Entries after a sequence, in order. */
  read(name: JournalName, afterSeq: number, limit: number, call: EngineCall): Promise<JournalEntry[]>;
  /** The entry of each key, `null` where there is none. */
  find(name: JournalName, keys: readonly string[], call: EngineCall): Promise<(JournalEntry | null)[]>;
  /**
   * Removes the journal, or what was put back of it; a tombstone, if given, refuses every later commit. Gives how many
   * entries there were. With `expectedSeq` only a whole journal, and while that is its last sequence, else `SEQ_CONFLICT`; with
   * `expectedRewrites` only while that is its `rewrites`, else `CONFLICT`; with `keepsName` `tenantsOf` goes on to know it.
   */
  remove(name: JournalName, tombstone: string | null, options: RemoveOptions): Promise<number>;
  /**
   * Puts entries back behind those put back before; with the last step they are seen, and pass through the feed. False,
   * and nothing is done, where the journal is live or anything else than what is known.
   */
  restore(name: JournalName, step: JournalRestore, call: EngineCall): Promise<boolean>;
  /**
   * Puts another body in the place of an entry's, for good and wherever it is kept, and moves `rewrites` in the same
   * step. False, and nothing is done, where the entry is not there or its body is another than `from`.
   */
  rewrite(name: JournalName, seq: number, body: { from: string; to: string }, call: EngineCall): Promise<boolean>;
  /** Removes the journal with its tombstone: nothing of it is left. Gives how many entries there were. */
  forget(name: JournalName, call: EngineCall): Promise<number>;
  /** Tenants that have a journal of a space, or the tombstone of one, in byte order, after one of them. */
  tenants(space: JournalSpace, after: string | null, limit: number, call: EngineCall): Promise<string[]>;
  /** Names of a tenant's journals and tombstones in byte order, after one of them. */
  names(
    space: JournalSpace,
    tenantId: string,
    after: string | null,
    limit: number,
    call: EngineCall,
  ): Promise<string[]>;
  /** Removes what still tells of a tenant whose journals are all forgotten, such as places in the feed. */
  clear(space: JournalSpace, tenantId: string, call: EngineCall): Promise<void>;
  /** Tenants that have a journal of this name, one that is put back, or one that was removed and keeps its name; two are enough. */
  tenantsOf(space: JournalSpace, name: string, call: EngineCall): Promise<string[]>;
  /** Live journals by (createdAt, tenantId, name), from one onwards. */
  list(space: JournalSpace, range: JournalRange, call: EngineCall): Promise<{ name: JournalName; head: JournalHead }[]>;
  /** Entries of all journals of a space in the order of commits, after a cursor. */
  feed(
    space: JournalSpace,
    after: string | null,
    limit: number,
    call: EngineCall,
  ): Promise<{ cursor: string; name: JournalName; entry: JournalEntry }[]>;
  /** Waits for a commit: to one journal, or to any of a space. A hint: it may end early, and may be missed. */
  wait(space: JournalSpace, name: JournalName | null, call: EngineCall): Promise<void>;
}
