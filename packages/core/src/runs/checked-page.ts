/**
 * Pages of a run's log, checked against its chain. An engine may make a page of several reads: what is removed or put back
 * between them looks like damage, so a page that does not fit is read again before it is called corrupt.
 */
import { isTidemarkError } from '../contracts/errors.ts';
import type { EngineCall, RunEngine, RunKey, StoredRunEvent } from '../engine/runs.ts';
import { checkPage } from './chain.ts';

const MOST_READS = 3;

/** Reads until it fits, or does not fit once too often. */
export async function readUntilIntact<T>(read: () => Promise<T>): Promise<T> {
  for (let reads = 1; ; reads++) {
    try {
      return await read();
    } catch (error) {
      if (reads === MOST_READS || !isTidemarkError(error, 'CORRUPT_EVENT')) throw error;
    }
  }
}

/** Up to `limit` events of a run after a sequence; none of a run that is not there, or not any more. */
export function fetchChecked(
  engine: Pick<RunEngine, 'fetch'>,
  run: RunKey,
  afterSeq: number,
  limit: number,
  call: EngineCall,
): Promise<StoredRunEvent[]> {
  return readUntilIntact(async () => {
    const page = await engine.fetch(run, afterSeq, limit, call);
    checkPage(run, afterSeq, page);
    return page.events;
  });
}
