/** All demo runs. They cover one week, and the latest are still in progress. */
import { memoryStore, type RunStore } from '@tidemark/core';
import { allRuns } from '../all-runs.ts';
import type { DemoClock } from './clock.ts';
import { backfillRun, loadRun } from './loads.ts';
import { orderRun } from './orders.ts';
import type { Random } from './random.ts';
import { researchRun } from './research.ts';
import { RunScript } from './script.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const ORDERS = 190;
const RESEARCH = 80;
const LOADS = 40;
const AT_ONCE = 4;

/** Builds the runs in memory, where commits are cheap, then restores them with their times and hashes. */
export async function fillRuns(runs: RunStore, random: Random, clock: DemoClock): Promise<number> {
  const staging = memoryStore({ clock: clock.read });
  for (const script of createScripts(random, clock.now)) await append(staging.runs, script, clock);
  await staging.runs.forkRun('order-1012', { toRunId: 'order-1012-what-if', atSeq: 4 });
  const waiting = allRuns(staging.runs);
  let restored = 0;
  const restore = async () => {
    for await (const { tenantId, runId } of waiting) {
      await runs.restoreRun(staging.runs.exportRun(runId, { tenantId }));
      restored++;
    }
  };
  await Promise.all(Array.from({ length: AT_ONCE }, restore));
  await staging.close();
  // Written directly to the store, because the commits of this run are large.
  await append(runs, backfillRun(random, clock.now - 30 * HOUR), clock);
  return restored + 1;
}

async function append(runs: RunStore, { batches }: RunScript, clock: DemoClock): Promise<void> {
  for (const { at, events } of batches) await clock.at(at, () => runs.appendEvents(events));
}

function createScripts(random: Random, now: number): RunScript[] {
  const week = 7 * 24 * HOUR;
  const spread = (count: number, at: number) => now - week + (at / count) * (week - 4 * HOUR) + random.between(0, HOUR);
  const orders = Array.from({ length: ORDERS }, (_, at) => {
    const outcome = random.chance(0.08) ? 'declined' : random.chance(0.04) ? 'cancelled' : 'completed';
    return orderRun(random, 1_000 + at, spread(ORDERS, at), outcome);
  });
  const research = Array.from({ length: RESEARCH }, (_, at) =>
    researchRun(random, 1 + at, spread(RESEARCH, at), random.chance(0.1) ? 'failed' : 'completed'),
  );
  const loads = Array.from({ length: LOADS }, (_, at) =>
    loadRun(random, 1 + at, spread(LOADS, at), random.chance(0.15) ? 'failed' : 'completed'),
  );
  return [...orders, ...research, ...loads, ...recent(random, now), inconsistent(random, now)];
}

/**
 * Returns runs that have not ended: some have been stuck for hours, some are waiting for people, and some are in
 * progress.
 */
function recent(random: Random, now: number): RunScript[] {
  return [
    ...[5, 9, 26].map((hours, at) => orderRun(random, 1_900 + at, now - hours * HOUR, 'stuck')),
    ...[2, 3, 5].map((minutes, at) => orderRun(random, 1_950 + at, now - minutes * MINUTE, 'moving')),
    ...[12, 50, 200, 900].map((minutes, at) => researchRun(random, 200 + at, now - minutes * MINUTE, 'waiting')),
    ...[8, 20].map((minutes, at) => researchRun(random, 300 + at, now - minutes * MINUTE, 'moving')),
    loadRun(random, 900, now - 40 * MINUTE, 'moving'),
  ];
}

/** Returns a run with an invalid transition: it completes a step that never started. */
function inconsistent(random: Random, now: number): RunScript {
  const { scope } = orderRun(random, 1_666, now, 'moving');
  const script = new RunScript(random, scope, now - 6 * HOUR);
  script.event('RunStarted').wait(100, 900).event('StepCompleted', { ok: true }, { stepId: 'reserve-stock' });
  return script.wait(100, 900).event('RunCompleted');
}
