/**
 * The journal primitive of keyed engines: a named, append-only list with unique keys. A writer appends against
 * the head it knows; when the head has moved or a key is there already, nothing is written and the newer head
 * comes back, so that the writer can decide again.
 */
import type { EngineCall } from './runs.ts';

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
}

export interface JournalEntry {
  /** 1, 2, 3, … */
  seq: number;
  /** Engine's clock at the commit, in milliseconds. */
  time: number;
  key: string;
  body: string;
}

/** A commit that was taken, or the head as it stands and those of the keys that are stored already. */
export type JournalOutcome =
  | { committed: true; time: number }
  | { committed: false; head: JournalHead | null; tombstone: string | null; found: JournalEntry[] };

export interface Journal {
  head(name: JournalName, call: EngineCall): Promise<{ head: JournalHead | null; tombstone: string | null }>;
  /** Appends if the last sequence is `known` and none of the keys is stored. */
  commit(
    name: JournalName,
    commit: { known: number; state: string; entries: readonly { key: string; body: string }[] },
    call: EngineCall,
  ): Promise<JournalOutcome>;
  /** Entries after a sequence, in order. */
  read(name: JournalName, afterSeq: number, limit: number, call: EngineCall): Promise<JournalEntry[]>;
  /** The entry of each key, `null` where there is none. */
  find(name: JournalName, keys: readonly string[], call: EngineCall): Promise<(JournalEntry | null)[]>;
  /** Removes the journal; a tombstone, if given, refuses every later commit. Gives how many entries there were. */
  remove(name: JournalName, tombstone: string | null, call: EngineCall): Promise<number>;
  /** Tenants that have a live journal of this name; two are enough. */
  tenantsOf(space: JournalSpace, name: string, call: EngineCall): Promise<string[]>;
  /** Live journals by (createdAt, tenantId, name), from one onwards. */
  list(
    space: JournalSpace,
    range: {
      tenantId?: string;
      order: 'newest' | 'oldest';
      after?: { createdAt: number; tenantId: string; name: string };
      limit: number;
    },
    call: EngineCall,
  ): Promise<{ name: JournalName; head: JournalHead }[]>;
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
