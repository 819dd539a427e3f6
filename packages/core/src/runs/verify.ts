/** Reads a run from its first event to its head and says whether the chain holds (RUN-17). */
import type { StoreContext } from '../context.ts';
import type { RunReadOptions, VerifyReport } from '../contracts/runs.ts';
import type { RunEngine, RunHead, RunKey } from '../engine/runs.ts';
import { digestBytes } from '../hash.ts';
import { ChainReader, FIRST_LINK } from './chain.ts';
import type { RunLookup } from './lookup.ts';
import { runNotFound } from './view.ts';

const VERIFY_PAGE = 1_000;

export async function verifyRun(
  context: StoreContext,
  engine: RunEngine,
  lookup: RunLookup,
  { run, head }: { run: RunKey; head: RunHead },
  options: RunReadOptions | undefined,
): Promise<VerifyReport> {
  const reader = new ChainReader(run);
  const report = { ...run, events: 0, head: digestBytes(head.link).toString('hex') };
  const broken = async (runSeq: number, reason: string) => {
    // A run that was removed meanwhile is not a broken one.
    if (!(await context.read(options, (call) => lookup.liveHead(run, call)))) throw runNotFound(run.runId);
    return { ...report, ok: false, problem: { runSeq, reason } };
  };
  let link = FIRST_LINK;
  while (report.events < head.seq) {
    const limit = Math.min(VERIFY_PAGE, head.seq - report.events);
    const page = await context.read(options, (call) => engine.fetch(run, report.events, limit, call));
    if (page.events[0]?.runSeq !== report.events + 1) return broken(report.events + 1, 'the event is missing');
    for (const event of page.events) {
      const problem = reader.problemOf(event);
      if (problem !== null) return broken(event.runSeq, problem);
      report.events = event.runSeq;
      link = event.link;
    }
  }
  if (link !== head.link) return broken(head.seq, 'the link of the run does not match its last event');
  return { ...report, ok: true };
}
