/**
 * One actor archives a run and restores it, again and again, while the other exports, reads and verifies it. A run that
 * is being moved must never be reported as damaged.
 */
import { isTidemarkError, type RunPart, type Store } from '@tidemark/core';
import { runEvent } from '../run-event.ts';
import { until } from './actors.ts';
import type { Race } from './race.ts';

/** More than one part. */
const EVENTS = 1_200;
const MOVES = 4;

export const EXPORTED_RUNS: Race = {
  summary: "' export, reads and verify during an archiver run",
  rounds: { short: 2, long: 30 },
  async round({ a, b, id }) {
    const runId = `${id}-run`;
    const [one, two] = [a.forTenant('default'), b.forTenant('default')];
    for (const from of [0, EVENTS / 2]) {
      const events = Array.from({ length: EVENTS / 2 }, (_, at) => runEvent(runId, `${from + at}`));
      await one.runs.appendEvents(events);
    }
    const done = new AbortController();
    const reads = new Reads(two, runId, done.signal);
    for (let move = 0; move < MOVES; move++) {
      const parts: RunPart[] = await Array.fromAsync(one.runs.exportRun(runId));
      await one.runs.archiveRun(runId, { location: 'somewhere', expectedSeq: EVENTS });
      await one.runs.restoreRun(parts);
    }
    done.abort();
    await reads.ended;
    return { checks: reads.count, problems: reads.problems };
  },
};

/**
 * Reads a run in every way that checks its chain, concurrently, until the signal aborts. Each way returns the number of
 * events it saw.
 */
class Reads {
  readonly problems: string[] = [];
  readonly ended: Promise<unknown>;
  count = 0;

  constructor({ runs }: Store, runId: string, signal: AbortSignal) {
    let after: string | undefined;
    const ways: Record<string, () => Promise<number>> = {
      export: async () =>
        (await Array.fromAsync(runs.exportRun(runId))).reduce((sum, part) => sum + part.events.length, 0),
      read: async () => (await Array.fromAsync(runs.readEvents(runId, { limit: 500 }))).length,
      verify: async () => {
        const { ok, events, problem } = await runs.verify(runId);
        if (!ok) this.problems.push(`verify reports damage: ${JSON.stringify(problem)}`);
        return events;
      },
      snapshot: async () => (await runs.projectSnapshot(runId)).lastEventSeq,
      feed: async () => {
        after = (await runs.feedPage({ cursor: after, limit: 300 })).next ?? after;
        return EVENTS;
      },
    };
    const loops = Object.entries(ways).map(([way, read]) => until(signal, () => this.#try(way, read)));
    this.ended = Promise.all(loops);
  }

  async #try(way: string, read: () => Promise<number>): Promise<void> {
    this.count++;
    try {
      const events = await read();
      if (events !== EVENTS) this.problems.push(`${way} ended after ${events} of ${EVENTS} events`);
    } catch (error) {
      if (isTidemarkError(error, 'RUN_ARCHIVED')) return;
      this.problems.push(`${way} failed: ${isTidemarkError(error) ? error.code : ''} ${(error as Error).message}`);
    }
  }
}
