/**
 * Reads pages of a run's log and checks them against its chain. An engine may assemble a page from several reads, and a
 * run may be removed or restored between them, so a page that does not fit is read again before it is reported as
 * corrupt.
 */
import { isTidemarkError } from '../contracts/errors.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { LogPage, RunEngine, StoredRunEvent } from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import { checkPage, missingEvent } from './chain.ts';
import { liveHead } from './lookup.ts';

const MAX_READS = 3;

/** Returns up to `limit` events of a run after a sequence, or none for a run that is unknown or removed. */
export async function fetchChecked(
  engine: Pick<RunEngine, 'fetch' | 'head'>,
  run: RunKey,
  afterSeq: number,
  limit: number,
  call: EngineCall,
): Promise<StoredRunEvent[]> {
  return (await readChecked(engine, run, afterSeq, limit, call))?.events ?? [];
}

/** Like `fetchChecked`, but returns the whole page, or `null` for a run that is unknown or removed. */
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
      // A run is corrupt only if it was not rewritten between the reads.
      if (head.rewrites !== known) [known, reads] = [head.rewrites, 1];
      else if (reads === MAX_READS) throw error;
    }
  }
}

/** Like `fetchChecked`, but an empty result means that no events follow. Throws `RUN_ARCHIVED` for an archived run. */
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
    // The run may have grown, or been removed and restored, since the page was read. If a second read without a rewrite
    // is empty too, an event is missing.
    if (head.rewrites === known) throw missingEvent(run, afterSeq + 1);
    known = head.rewrites;
  }
}
