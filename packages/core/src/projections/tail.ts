/** Reads a run's events after a sequence, page by page, for folding. */
import type { CallOptions } from '../contracts/common.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { RunEventRecord } from '../contracts/run-events.ts';
import type { RunReadOptions, RunStore } from '../contracts/runs.ts';

const PAGE = 1_000;

/** Passes each event to `take`, up to `atSeq` if given. Throws `INVALID_ARGUMENT` when the run ends before `atSeq`. */
export async function readTail(
  runs: Pick<RunStore, 'fetchEvents'>,
  runId: string,
  afterSeq: number,
  { atSeq = Number.POSITIVE_INFINITY, ...options }: RunReadOptions & CallOptions & { atSeq?: number },
  take: (event: RunEventRecord) => void | Promise<void>,
): Promise<void> {
  let seq = afterSeq;
  while (seq < atSeq) {
    const limit = Math.min(PAGE, atSeq - seq);
    const events = await runs.fetchEvents(runId, { ...options, afterSeq: seq, limit });
    for (const event of events) {
      const taken = take(event);
      if (taken) await taken;
    }
    seq = events.at(-1)?.runSeq ?? seq;
    if (events.length < limit) break;
  }
  if (seq > 0 && atSeq !== Number.POSITIVE_INFINITY && seq < atSeq)
    throw invalidArgument('atSeq', `at most ${seq}, the last of the run`, atSeq);
}
