/**
 * The interface of a database for shared SQL. Statements are written once: `?` is a parameter and `@name` a table or
 * function of Tidemark. Each engine translates them.
 */
import type { EngineCall } from '@tidemark/core/engine';

export type SqlValue = string | number | null | Uint8Array;

/** Runs statements inside a transaction. */
export interface SqlTransaction {
  /** Returns all rows of a statement; for writes, the rows of its RETURNING clause. */
  all<Row>(sql: string, params: readonly SqlValue[]): Promise<Row[]>;
  /** Returns the number of rows that a statement wrote. Cheaper than returning the rows and counting them. */
  run(sql: string, params: readonly SqlValue[]): Promise<number>;
}

/** The source of record revisions. Each change has its own revision, and revisions only increase. */
export interface Revisions {
  /** Selects the next revision, as `revision`, and the time, as `now`. */
  next: string;
  /** Selects the latest issued revision, as `revision`, and the time, as `now`. */
  latest: string;
  /**
   * True when a revision becomes visible only after its change, and every earlier change, is committed. Engines with
   * concurrent writers issue revisions before the commit.
   */
  committedInOrder: boolean;
}

export interface SqlDatabase {
  /** Runs one read statement outside any transaction. */
  read<Row>(sql: string, params: readonly SqlValue[], call: EngineCall): Promise<Row[]>;
  /**
   * Runs work that is written completely or not at all, and resolves after the commit. The work may share its
   * transaction with other work and must use only `tx`. An error it throws rolls it back and is rethrown unchanged.
   */
  write<T>(work: (tx: SqlTransaction) => Promise<T>, call: EngineCall): Promise<T>;
  readonly revisions: Revisions;
  /** Appended to a SELECT whose rows are about to be changed, on engines with row locks. */
  readonly forUpdate: '' | ' FOR UPDATE';
}

/**
 * The clock of the engine in milliseconds, as an SQL expression: all comparisons of expiry and leases use it.
 */
export const NOW = '@tidemark_now()';

/** A row with the time, for statements that need the same millisecond more than once. */
export const CLOCK = `(SELECT ${NOW} AS now) AS clock`;

/** How an engine notifies waiting readers, in this process and in others, that something is new. */
export interface SqlSignals {
  /**
   * Resolves at the topic's next notification, at the call's deadline or when it aborts. Notifications may be missed.
   */
  wait(topic: string, call: EngineCall): Promise<void>;
  /** Called after a commit. */
  notify(topic: string): void;
}
