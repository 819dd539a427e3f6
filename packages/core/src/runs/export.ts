/** `exportRun`: yields a run in parts, as stored, and checks each event against the chain. */

import { isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { RunPart } from '../contracts/run-parts.ts';
import type { RunReadOptions } from '../contracts/runs.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RunEngine, RunHead, StoredRunEvent } from '../engine/runs.ts';
import type { StoreContext } from '../tools/context.ts';
import { ChainReader, missingEvent } from './chain.ts';
import { exportedEvent } from './event-forms.ts';
import { exportedRun } from './exported.ts';
import { liveHead } from './lookup.ts';
import { smallParts } from './parts.ts';
import { runNotFound } from './view.ts';

const PART_EVENTS = 1_000;

/** Yields the parts of a run up to `head`. Events appended after `head` was read are omitted. */
export async function* exportParts(
  context: StoreContext,
  engine: RunEngine,
  run: RunKey,
  head: RunHead,
  options: RunReadOptions | undefined,
): AsyncGenerator<RunPart, void, undefined> {
  let chain = new ChainReader(run);
  for (let seq = 0; seq < head.seq; ) {
    const page = await context.read(options, (call) => readPart(engine, run, head, { seq, chain }, call));
    chain = page.chain;
    seq = page.events.at(-1)!.runSeq;
    yield* smallParts({ run: exportedRun(head), events: page.events.map(exportedEvent), isLast: seq === head.seq });
  }
}

/** The position of an export: the last sequence yielded, and the chain up to it. */
interface ExportPosition {
  seq: number;
  chain: ChainReader;
}

/**
 * Reads the next events. Reads them again if the run has been rewritten, so that a restored run is not reported as
 * damaged.
 */
async function readPart(
  engine: RunEngine,
  run: RunKey,
  head: RunHead,
  { seq, chain }: ExportPosition,
  call: EngineCall,
): Promise<{ events: StoredRunEvent[]; chain: ChainReader }> {
  for (let known: number | undefined; ; ) {
    const { events } = await engine.fetch(run, seq, Math.min(PART_EVENTS, head.seq - seq), call);
    const reader = chain.copy();
    try {
      checkPart(run, head, seq, events, reader);
      return { events, chain: reader };
    } catch (error) {
      if (!isTidemarkError(error, 'CORRUPT_EVENT')) throw error;
      const current = await liveHead(engine, run, call);
      if (current === null) throw runNotFound(run.runId);
      if (current.rewrites === known) throw error;
      known = current.rewrites;
    }
  }
}

function checkPart(run: RunKey, head: RunHead, seq: number, events: StoredRunEvent[], reader: ChainReader): void {
  if (events[0]?.runSeq !== seq + 1) throw missingEvent(run, seq + 1);
  for (const event of events) reader.check(event);
  const { runSeq, link } = events.at(-1)!;
  if (runSeq !== head.seq || link === head.link) return;
  throw new TidemarkError(
    'CORRUPT_EVENT',
    `Event ${runSeq} of run ${JSON.stringify(run.runId)} does not match the head of the run`,
    { runId: run.runId, runSeq },
  );
}
