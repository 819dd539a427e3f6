/** Records that are written in the transaction of an append, such as the state of an inline projection. */
import type { AppendPlan, RunAppend, SameCommitWrites } from '@tidemark/core/engine';
import type { SqlRecords } from '../records.ts';
import type { SqlRunTransaction } from './database.ts';
import { eventsInside } from './reading.ts';

/**
 * Writes the records after the events are stored. Returns a function that notifies watchers, to be called after the
 * commit.
 */
export function writeInSameCommit(
  tx: SqlRunTransaction,
  records: SqlRecords,
  { run }: RunAppend,
  sameCommit: SameCommitWrites,
  { placed, head }: AppendPlan,
): Promise<() => void> {
  const read = (afterSeq: number, limit: number) => eventsInside(tx, run, afterSeq, limit);
  const log = { rewrites: head.rewrites, read };
  return records.changeInside(tx, sameCommit.names, (found) => sameCommit.writes(placed, found, log));
}
