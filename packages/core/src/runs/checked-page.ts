/**
 * Pages of a run's log, checked against its chain. An engine may make a page of several reads, and a run may be removed or
 * put back between two of them: what does not fit is read again before it is called corrupt.
 */
import { isTidemarkError } from '../contracts/errors.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { LogPage, RunEngine, StoredRunEvent } from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import { checkPage, missingEvent } from './chain.ts';
import { liveHead } from './lookup.ts';

const MOST_READS = 3;

/** Up to `limit` events of a run after a sequence; none of a run that is not there, or not any more. */
export async function fetchChecked(
  engine: Pick<RunEngine, 'fetch' | 'head'>,
  run: RunKey,
  afterSeq: number,
  limit: number,
  call: EngineCall,
): Promise<StoredRunEvent[]> {
  return (await readChecked(engine, run, afterSeq, limit, call))?.events ?? [];
}

/** The same with what leads up to the first event; `null` for a run that is not there, or not any more. */
export async function readChecked(
  engine: Pick<RunEngine, 'fetch' | 'head'>,
  run: RunKey,
  afterSeq: number,
  limit: number,
  call: EngineCall,
): Promise<LogPage | null> {
  let known: number | undefined;
  for (let reads = 1; ; reads++) {
    const page = await engine.fetch(run, afterSeq, limit, call);
    try {
      checkPage(run, afterSeq, page);
      return page;
    } catch (error) {
      if (!isTidemarkError(error, 'CORRUPT_EVENT')) throw error;
      const head = await engine.head(run, call);
      if (head === null || isTombstone(head)) return null;
      // Only a run that nobody has rewritten meanwhile can be corrupt.
      if (head.rewrites !== known) [known, reads] = [head.rewrites, 1];
      else if (reads === MOST_READS) throw error;
    }
  }
}

/** The same of a live run, where no events mean that there are no more. Throws `RUN_ARCHIVED` for an archived one. */
export async function fetchLive(
  engine: Pick<RunEngine, 'fetch' | 'head'>,
  run: RunKey,
  afterSeq: number,
  limit: number,
  call: EngineCall,
): Promise<StoredRunEvent[]> {
  for (let known: number | undefined; ; ) {
    const events = await fetchChecked(engine, run, afterSeq, limit, call);
    if (events.length > 0) return events;
    const head = await liveHead(engine, run, call);
    if (head === null || head.seq <= afterSeq) return [];
    // It was removed and put back, or has grown, since the page was read.
    if (head.rewrites === known) throw missingEvent(run, afterSeq + 1);
    known = head.rewrites;
  }
}
