/** Reads a run from its first event to its head and says whether the chain holds (RUN-17). */
import type { StoreContext } from '../context.ts';
import type { RunReadOptions, VerifyReport } from '../contracts/runs.ts';
import type { RunEngine, RunHead, RunKey } from '../engine/runs.ts';
import { digestBytes } from '../hash.ts';
import { ChainReader, FIRST_LINK } from './chain.ts';
import { liveHead } from './lookup.ts';
import { runNotFound } from './view.ts';

const VERIFY_PAGE = 1_000;

type Problem = NonNullable<VerifyReport['problem']>;

/** Verifies a run up to the head it has now. Throws `RUN_NOT_FOUND` or `RUN_ARCHIVED` for one that is not there, or not any more. */
export async function verifyRun(
  context: StoreContext,
  engine: RunEngine,
  run: RunKey,
  options: RunReadOptions | undefined,
): Promise<VerifyReport> {
  let head = await headOf(context, engine, run, options);
  for (;;) {
    const { events, problem } = await readChain(context, engine, run, head, options);
    const report = { ...run, events, head: digestBytes(head.link).toString('hex') };
    if (!problem) return { ...report, ok: true };
    // A run that was removed or put back while it was read is not a broken one.
    const current = await headOf(context, engine, run, options);
    if (current.rewrites === head.rewrites) return { ...report, ok: false, problem };
    head = current;
  }
}

async function headOf(context: StoreContext, engine: RunEngine, run: RunKey, options: RunReadOptions | undefined) {
  const head = await context.read(options, (call) => liveHead(engine, run, call));
  if (!head) throw runNotFound(run.runId);
  return head;
}

/** How many events fit, and the first thing that is wrong. */
async function readChain(
  context: StoreContext,
  engine: RunEngine,
  run: RunKey,
  head: RunHead,
  options: RunReadOptions | undefined,
): Promise<{ events: number; problem?: Problem }> {
  const reader = new ChainReader(run);
  let [events, link] = [0, FIRST_LINK];
  const broken = (runSeq: number, reason: string) => ({ events, problem: { runSeq, reason } });
  while (events < head.seq) {
    const limit = Math.min(VERIFY_PAGE, head.seq - events);
    const page = await context.read(options, (call) => engine.fetch(run, events, limit, call));
    if (page.events[0]?.runSeq !== events + 1) return broken(events + 1, 'the event is missing');
    for (const event of page.events) {
      const reason = reader.problemOf(event);
      if (reason !== null) return broken(event.runSeq, reason);
      events = event.runSeq;
      link = event.link;
    }
  }
  if (link !== head.link) return broken(head.seq, 'the link of the run does not match its last event');
  return { events };
}
