/**
 * Remembers the last head that this process saw of each run and reports a run that lost events (`HEAD_WENT_BACK`), as after a
 * failover to a server that did not have them yet. A redaction, a restore or a removal explains a lower head; nothing else does.
 */
import type { StoreContext } from '../context.ts';
import type { EngineCall, PlacedEvent, RunEngine, RunHead, RunKey } from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import type { KnownHead } from './head-memory.ts';

/** The calls of an engine that show heads, with every head compared with the one before. */
export function watchHeads(context: StoreContext, engine: RunEngine): Pick<RunEngine, 'head' | 'append'> {
  const { heads } = context;
  return {
    async head(run, call) {
      // As it was before the read began: an append that ends meanwhile is later than what the read returns.
      const known = heads.get(run);
      const head = await engine.head(run, call);
      if (head === null || isTombstone(head)) heads.forget(run);
      else if (known && isSuspicious(known, head)) void confirm(context, engine, run, known);
      else heads.note(run, head);
      return head;
    },

    async append(appends, options) {
      const before = appends.map(({ run }) => heads.get(run));
      const outcomes = await engine.append(appends, options);
      // A transaction of the caller's may still be undone.
      if (options.transaction !== undefined) return outcomes;
      for (const [at, outcome] of outcomes.entries()) {
        const placed = outcome instanceof Error ? [] : outcome.filter(({ duplicateOf }) => duplicateOf === null);
        if (placed.length > 0) noteAppend(context, engine, appends[at]!.run, before[at]!, placed);
      }
      return outcomes;
    },
  };
}

function noteAppend(
  context: StoreContext,
  engine: RunEngine,
  run: RunKey,
  known: KnownHead | null,
  placed: readonly PlacedEvent[],
): void {
  const [first, last] = [placed[0]!, placed.at(-1)!];
  if (known && first.runSeq <= known.seq) void confirm(context, engine, run, known, first.runSeq);
  else {
    const createdAt = first.runSeq === 1 ? first.persistedAt : (known?.createdAt ?? null);
    context.heads.note(run, { seq: last.runSeq, link: null, rewrites: known?.rewrites ?? null, createdAt });
  }
}

function isSuspicious(known: KnownHead, head: RunHead): boolean {
  if (known.rewrites !== null && head.rewrites !== known.rewrites) return head.rewrites < known.rewrites;
  return head.seq < known.seq || (head.seq === known.seq && known.link !== null && head.link !== known.link);
}

/** Looks again, beside the call that noticed it, and reports what no rewrite and no removal explains. */
async function confirm(
  context: StoreContext,
  engine: RunEngine,
  run: RunKey,
  known: KnownHead,
  placedAt?: number,
): Promise<void> {
  const call = { deadline: Date.now() + context.timeoutMs, tenantId: context.tenantId };
  try {
    const head = await engine.head(run, call);
    if (head === null || isTombstone(head)) return context.heads.forget(run);
    context.heads.set(run, head);
    const isExplained =
      head.rewrites > (known.rewrites ?? 0) || (known.createdAt !== null && known.createdAt !== head.createdAt);
    const isLost =
      placedAt !== undefined || isSuspicious(known, head) || (await isReplaced(engine, run, known, head, call));
    if (!isExplained && isLost) context.reportWentBack(run, known.seq, placedAt ?? head.seq);
  } catch {
    // The next call that sees the head compares it again.
  }
}

/** Whether another event is at the sequence that was known. */
async function isReplaced(
  engine: RunEngine,
  run: RunKey,
  known: KnownHead,
  head: RunHead,
  call: EngineCall,
): Promise<boolean> {
  if (known.link === null || head.seq <= known.seq) return false;
  const [event] = (await engine.fetch(run, known.seq - 1, 1, call)).events;
  return event !== undefined && event.link !== known.link;
}
