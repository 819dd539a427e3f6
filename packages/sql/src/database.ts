/**
 * The database as shared SQL sees it. Statements are written once: `?` stands for a parameter and `@name` for a
 * table or function of Tidemark, which each engine turns into its own words.
 */
import type { EngineCall } from '@tidemark/core/engine';

export type SqlValue = string | number | null | Uint8Array;

/** Runs statements inside a transaction. */
export interface SqlTransaction {
  /** All rows a statement gives; for writes, those of its RETURNING clause. */
  all<Row>(sql: string, params: readonly SqlValue[]): Promise<Row[]>;
  /** Returns how many rows a statement has written. Cheaper than to return and count them. */
  run(sql: string, params: readonly SqlValue[]): Promise<number>;
}

/** Where the revisions of records come from: each change has one of its own, and they only grow. */
export interface Revisions {
  /** Gives the next one, as `revision`, and the time, as `now`. */
  next: string;
  /** Gives the latest one that was given, as `revision`, and the time, as `now`. */
  latest: string;
  /**
   * True when a revision is seen only once its change is committed, and every one before it is. Engines on which
   * writers do not wait for each other give them out ahead of the commit.
   */
  committedInOrder: boolean;
}

export interface SqlDatabase {
  /** One statement that reads, outside of any transaction. */
  read<Row>(sql: string, params: readonly SqlValue[], call: EngineCall): Promise<Row[]>;
  /**
   * Work that is written whole or not at all. It may share its transaction with others' work, must use nothing
   * but `tx`, and is answered after the commit. What it throws undoes it and is passed on as it is.
   */
  write<T>(work: (tx: SqlTransaction) => Promise<T>, call: EngineCall): Promise<T>;
  readonly revisions: Revisions;
  /** Added to a SELECT whose rows are about to be changed, on engines that lock rows. */
  readonly forUpdate: '' | ' FOR UPDATE';
}

/**
 * The clock of the engine in milliseconds, as an SQL expression: all comparisons of expiry and leases use it.
 */
export const NOW = '@tidemark_now()';

/** A row with the time, for statements that need the same millisecond more than once. */
export const CLOCK = `(SELECT ${NOW} AS now) AS clock`;

/** How an engine tells those who wait, in this process and in others, that there is something new. */
export interface SqlSignals {
  /** Ends at the next notification of the topic, at the call's deadline or when it aborts; a hint may be missed. */
  wait(topic: string, call: EngineCall): Promise<void>;
  /** Called after a commit. */
  notify(topic: string): void;
}
