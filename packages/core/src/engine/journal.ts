/**
 * The journal primitive of keyed engines: a named, append-only list with unique keys. A writer appends on the condition
 * that the head has not changed since it read it. If it has changed, or a key is already stored, nothing is written and
 * the current head is returned, so that the writer can decide again.
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
   * Increases whenever stored entries change: by one with each rewrite, and to a value above all earlier ones with each
   * restore and each new beginning. A removed journal keeps its value until it is forgotten.
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
  /** A part of the head's state that no other history of the journal has. */
  follows?: string;
  state: string;
  entries: readonly { key: string; body: string }[];
}

/** The first entries of a journal that begins again, and the tombstone that they replace. */
export interface JournalBeginning extends Pick<JournalCommit, 'state' | 'entries'> {
  tombstone: string;
}

/** A successful commit, or the current head and the entries whose keys are already stored. */
export type JournalOutcome =
  | { committed: true; time: number }
  | { committed: false; head: JournalHead | null; tombstone: string | null; found: JournalEntry[] };

export interface RemoveOptions extends EngineCall {
  expectedSeq?: number;
  expectedRewrites?: number;
  keepsName?: boolean;
  /** Text for the feed, stored in the same step. */
  notice?: string;
}

/** One step of restoring a journal. */
export interface JournalRestore {
  /** The current tombstone, and how many entries earlier steps restored. */
  known: { tombstone: string | null; seq: number };
  /** The tombstone to keep until the last step. */
  tombstone: string;
  /** The next entries, with their own sequences and times. */
  entries: readonly JournalEntry[];
  /**
   * The head at the last entry of the last step. The restored journal's `rewrites` must exceed the `rewrites` of this
   * head.
   */
  head: JournalHead;
  isLast: boolean;
  /** Text for the feed, stored with the last step and before its entries. */
  notice?: string;
}

/** An entry in the feed of a space, or a notice that was stored with a change. */
export type JournalFeedItem =
  | { cursor: string; name: JournalName; entry: JournalEntry; notice?: undefined }
  | { cursor: string; name: JournalName; entry?: undefined; notice: string };

/** The new body of an entry, on the condition that it still has the old one. */
export interface JournalRewrite {
  from: string;
  to: string;
  /** Text for the feed, stored in the same step. */
  notice?: string;
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
   * Appends if the last sequence is `known` and none of the keys is stored. With `rewrites`, also requires the head to
   * have that value, because a restore may have replaced the run with another history that ends at the same sequence.
   * With `follows`, also requires the head's state to contain that text, because a server that lost its last commits may
   * have stored others with their sequences since. An engine whose server never loses an acknowledged commit may ignore
   * `follows`.
   */
  commit(name: JournalName, commit: JournalCommit, call: EngineCall): Promise<JournalOutcome>;
  /**
   * Begins a removed journal again in one step, with these entries as its first. Returns `null` and does nothing if the
   * journal no longer has this tombstone. Raises `rewrites` above every earlier value. Removes any remaining earlier
   * entries first.
   */
  begin(
    name: JournalName,
    commit: JournalBeginning,
    call: EngineCall,
  ): Promise<{ time: number; rewrites: number } | null>;
  /** Returns the entries after a sequence, in order. */
  read(name: JournalName, afterSeq: number, limit: number, call: EngineCall): Promise<JournalEntry[]>;
  /** Returns the entry of each key, `null` where it is missing. */
  find(name: JournalName, keys: readonly string[], call: EngineCall): Promise<(JournalEntry | null)[]>;
  /**
   * Removes the journal, or the part of it that was restored so far, and returns the number of entries it had. A
   * tombstone, if given, refuses every later commit. Throws `SEQ_CONFLICT` if `expectedSeq` is set and the journal is
   * incomplete or has another last sequence, and `CONFLICT` if `expectedRewrites` is set and is not the journal's
   * `rewrites`. With `keepsName`, `tenantsOf` continues to find it.
   */
  remove(name: JournalName, tombstone: string | null, options: RemoveOptions): Promise<number>;
  /**
   * Restores entries after the entries of earlier steps. The last step makes them all visible and passes them through
   * the feed. Returns false and does nothing when the journal is live or not in the state that `known` describes.
   */
  restore(name: JournalName, step: JournalRestore, call: EngineCall): Promise<boolean>;
  /**
   * Permanently replaces the body of an entry wherever it is stored, and increases `rewrites` in the same step. Returns
   * false and does nothing when the entry is missing or its body is not `from`.
   */
  rewrite(name: JournalName, seq: number, body: JournalRewrite, call: EngineCall): Promise<boolean>;
  /** Removes the journal and its tombstone completely. Returns how many entries it had. */
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
  /**
   * Returns tenants with a journal of this name: live, being restored, or removed with `keepsName`. Two tenants are
   * enough to know that the name is ambiguous.
   */
  tenantsOf(space: JournalSpace, name: string, call: EngineCall): Promise<string[]>;
  /** Lists live journals by (createdAt, tenantId, name), after a given one. */
  list(space: JournalSpace, range: JournalRange, call: EngineCall): Promise<{ name: JournalName; head: JournalHead }[]>;
  /**
   * Returns entries of all journals of a space in the order of commits, after a cursor. With `notices`, also returns
   * the notices between them. A cursor from a read with notices also works without notices, and vice versa. An engine
   * without notices ignores the flag.
   */
  feed(
    space: JournalSpace,
    after: string | null,
    limit: number,
    call: EngineCall,
    notices?: boolean,
  ): Promise<JournalFeedItem[]>;
  /** Waits for a commit to one journal, or to any of a space. A hint: it may resolve early and may miss a commit. */
  wait(space: JournalSpace, name: JournalName | null, call: EngineCall): Promise<void>;
}
