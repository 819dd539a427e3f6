/**
 * Reads the events of a run between two sequences, in either order. A page that is read backwards is read from the
 * store by its range, checked forwards like any other, and then reversed.
 */
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RunEngine, StoredRunEvent } from '../engine/runs.ts';
import { missingEvent } from './chain.ts';
import { fetchChecked, fetchLive } from './checked-page.ts';
import type { EventRange } from './event-range.ts';
import { liveHead } from './lookup.ts';

/** How often a page is read that ends before the head says it should, while nothing rewrites the run. */
const MOST_READS = 3;

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
  // Events before a sequence that exists need no head: the last event of the page shows that the page is whole.
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
      // The run ends here, or was replaced by a shorter history meanwhile.
      [upTo, reads] = [beforeSeq === undefined ? head.seq : Math.min(head.seq, beforeSeq - 1), 0];
    } else if (head.rewrites !== known) {
      [known, reads] = [head.rewrites, 1];
    } else if (reads >= MOST_READS) {
      throw missingEvent(run, last + 1);
    }
  }
}
