/**
 * Remembers the last head that this process has seen of each run, and reports runs that lost events (`HEAD_WENT_BACK`),
 * for example after a failover to a server that had not received them. Only a redaction, a restore or a removal is a
 * valid reason for a lower head.
 */

import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RunEngine, RunHead, SequencedEvent } from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import type { StoreContext } from '../tools/context.ts';
import { type HeadMemory, headKey, type KnownHead } from '../tools/head-memory.ts';

/** Wraps the engine calls that return heads, and compares each head with the last one seen. */
export function watchHeads(context: StoreContext, engine: RunEngine): Pick<RunEngine, 'head' | 'append'> {
  const { heads } = context;
  return {
    async head(run, call) {
      // Read before the head, because an append that completes in between would be later than the head.
      const key = headKey(run);
      const seen = heads.get(key);
      const known = seen && { ...seen };
      const head = await engine.head(run, call);
      if (head === null || isTombstone(head)) heads.forget(key);
      else if (known && isSuspicious(known, head)) void confirm(context, engine, run, known);
      else heads.note(key, head);
      return head;
    },

    async append(appends, options) {
      // The caller may still roll back its own transaction.
      if (options.transaction !== undefined) return engine.append(appends, options);
      const before = appends.map(({ run }) => knownBefore(heads, run));
      const outcomes = await engine.append(appends, options);
      for (let at = 0; at < outcomes.length; at++) {
        const outcome = outcomes[at]!;
        if (outcome instanceof Error) continue;
        const first = outcome.find(isNew);
        if (first === undefined) continue;
        const { key, known, seq } = before[at]!;
        const last = outcome.length === 1 ? first : outcome.findLast(isNew)!;
        if (known !== null && first.runSeq <= seq)
          void confirm(context, engine, appends[at]!.run, { ...known, seq }, first.runSeq);
        else if (known === null || first.runSeq === 1 || !heads.advance(key, known, last.runSeq))
          heads.note(key, headAfter(known, first, last));
      }
      return outcomes;
    },
  };
}

/** Returns the head known before an append. Its sequence is a copy, because other appends move the head itself. */
function knownBefore(heads: HeadMemory, run: RunKey): { key: string; known: KnownHead | null; seq: number } {
  const key = headKey(run);
  const known = heads.get(key);
  return { key, known, seq: known === null ? 0 : known.seq };
}

function isNew({ duplicateOf }: SequencedEvent): boolean {
  return duplicateOf === null;
}

/** Returns the known head after an append stored these events. */
function headAfter(known: KnownHead | null, first: SequencedEvent, last: SequencedEvent): KnownHead {
  const createdAt = first.runSeq === 1 ? first.persistedAt : (known?.createdAt ?? null);
  return { seq: last.runSeq, link: null, rewrites: known?.rewrites ?? null, createdAt };
}

function isSuspicious(known: KnownHead, head: RunHead): boolean {
  if (known.rewrites !== null && head.rewrites !== known.rewrites) return head.rewrites < known.rewrites;
  return head.seq < known.seq || (head.seq === known.seq && known.link !== null && head.link !== known.link);
}

/** Reads the head again in the background, and reports a loss that no rewrite and no removal explains. */
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
    const key = headKey(run);
    if (head === null || isTombstone(head)) return context.heads.forget(key);
    context.heads.set(key, head);
    const isExplained =
      head.rewrites > (known.rewrites ?? 0) || (known.createdAt !== null && known.createdAt !== head.createdAt);
    const isLost =
      placedAt !== undefined || isSuspicious(known, head) || (await isReplaced(engine, run, known, head, call));
    if (!isExplained && isLost) context.reportWentBack(run, known.seq, placedAt ?? head.seq);
  } catch {
    // The next call that reads the head compares it again.
  }
}

/** Whether the known sequence now has a different event. */
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
