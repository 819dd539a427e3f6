/**
 * Reads the events of a run between two sequences, in either order. A backwards page is read from the store by its
 * range, checked forwards like any other page, and then reversed.
 */
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RunEngine, StoredRunEvent } from '../engine/runs.ts';
import { missingEvent } from './chain.ts';
import { fetchChecked, fetchLive } from './checked-page.ts';
import type { EventRange } from './event-range.ts';
import { liveHead } from './lookup.ts';

/** How often to read a page that ends before the run's last sequence although the run was not rewritten. */
const MAX_READS = 3;

/** Returns up to `limit` events of a range, verified. Throws `RUN_ARCHIVED` for an archived run. */
export async function fetchRange(
  engine: Pick<RunEngine, 'fetch' | 'head'>,
  run: RunKey,
  range: EventRange,
  call: EngineCall,
): Promise<StoredRunEvent[]> {
  const { afterSeq, beforeSeq, limit } = range;
  const width = beforeSeq === undefined ? limit : beforeSeq - 1 - afterSeq;
  if (width < 1) {
    await liveHead(engine, run, call);
    return [];
  }
  if (range.order === 'newest') return fetchNewest(engine, run, range, call);
  return fetchLive(engine, run, afterSeq, Math.min(limit, width), call);
}

async function fetchNewest(
  engine: Pick<RunEngine, 'fetch' | 'head'>,
  run: RunKey,
  { afterSeq, beforeSeq, limit }: EventRange,
  call: EngineCall,
): Promise<StoredRunEvent[]> {
  // With `beforeSeq`, try without the head first: a page that ends right before `beforeSeq` is complete.
  let upTo = beforeSeq === undefined ? null : beforeSeq - 1;
  let known: number | undefined;
  for (let reads = 1; ; reads++) {
    const from = upTo === null ? afterSeq : Math.max(afterSeq, upTo - limit);
    let last = from;
    if (upTo !== null) {
      const events = await fetchChecked(engine, run, from, upTo - from, call);
      last = events.at(-1)?.runSeq ?? from;
      if (last === upTo) return events.reverse();
    }
    const head = await liveHead(engine, run, call);
    if (head === null || head.seq <= afterSeq) return [];
    if (upTo === null || head.seq < upTo) {
      // The run ends here, or has been replaced by a shorter history.
      [upTo, reads] = [beforeSeq === undefined ? head.seq : Math.min(head.seq, beforeSeq - 1), 0];
    } else if (head.rewrites !== known) {
      [known, reads] = [head.rewrites, 1];
    } else if (reads >= MAX_READS) {
      throw missingEvent(run, last + 1);
    }
  }
}
