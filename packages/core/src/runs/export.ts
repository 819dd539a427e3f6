/** `exportRun`: a run as it is stored, in parts, each event checked against the chain as it is read. */
import type { StoreContext } from '../context.ts';
import { TidemarkError } from '../contracts/errors.ts';
import type { RunPart } from '../contracts/run-parts.ts';
import type { RunReadOptions } from '../contracts/runs.ts';
import type { RunEngine, RunHead, RunKey } from '../engine/runs.ts';
import { ChainReader } from './chain.ts';
import { exportedEvent, exportedRun } from './exported.ts';

const PART_EVENTS = 1_000;

/** The parts of a run up to the head it was found with; what is appended meanwhile is left out. */
export async function* exportParts(
  context: StoreContext,
  engine: RunEngine,
  run: RunKey,
  head: RunHead,
  options: RunReadOptions | undefined,
): AsyncGenerator<RunPart, void, undefined> {
  const chain = new ChainReader(run);
  for (let seq = 0; seq < head.seq; ) {
    const limit = Math.min(PART_EVENTS, head.seq - seq);
    const { events } = await context.read(options, (call) => engine.fetch(run, seq, limit, call));
    if (events[0]?.runSeq !== seq + 1) throw incomplete(run, seq + 1, 'is missing or was removed meanwhile');
    for (const event of events) chain.check(event);
    const last = events.at(-1)!;
    seq = last.runSeq;
    if (seq === head.seq && last.link !== head.link) throw incomplete(run, seq, 'does not match the head of the run');
    yield { run: exportedRun(head), events: events.map(exportedEvent), isLast: seq === head.seq };
  }
}

function incomplete({ runId }: RunKey, runSeq: number, problem: string): TidemarkError {
  return new TidemarkError('CORRUPT_EVENT', `Event ${runSeq} of run ${JSON.stringify(runId)} ${problem}`, {
    runId,
    runSeq,
  });
}
