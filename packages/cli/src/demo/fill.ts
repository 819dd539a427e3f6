/** Fills a store with a week of demo data. The same seed and time produce the same data. */
import { setTimeout as sleep } from 'node:timers/promises';
import { type Store, TidemarkError } from '@tidemark/core';
import { createProjector } from '@tidemark/runtime';
import { open } from 'tidemark';
import { DemoClock } from './clock.ts';
import { DOCUMENTED, fillDocumented } from './documented.ts';
import { fillJobs } from './jobs.ts';
import { Random } from './random.ts';
import { fillRuns } from './runs.ts';
import { fillSessions } from './sessions.ts';

export interface DemoCounts {
  runs: number;
  sessions: number;
  jobs: number;
}

export interface DemoOptions {
  seed?: number;
  /** The current time of the demo, in milliseconds since the epoch. */
  now?: number;
}

const PROJECT_LIMIT_MS = 10_000;
const POLL_MS = 20;

/** Opens the store with the demo's clock, fills it and closes it. Throws `CONFLICT` if the store already holds runs. */
export async function fillDemo(url: string, { seed = 7, now = Date.now() }: DemoOptions = {}): Promise<DemoCounts> {
  const clock = new DemoClock(now);
  const random = new Random(seed);
  const store = await open(url, { clock: clock.read });
  try {
    const counts = await fillStore(store, random, clock);
    await project(store);
    return counts;
  } finally {
    await store.close();
  }
}

async function fillStore(store: Store, random: Random, clock: DemoClock): Promise<DemoCounts> {
  if ((await store.runs.listRuns({ limit: 1 })).items.length > 0)
    throw new TidemarkError(
      'CONFLICT',
      'The store holds runs already; the demo fills an empty one: name another with --store',
    );
  await fillDocumented(store);
  return {
    runs: DOCUMENTED.runs + (await fillRuns(store.runs, random, clock)),
    sessions: DOCUMENTED.sessions + (await fillSessions(store, random, clock)),
    jobs: DOCUMENTED.jobs + (await fillJobs(store, random, clock)),
  };
}

/**
 * Folds all runs as a projector does. Otherwise the projector of the server that is started next would report a lag of
 * days, because the demo's events are as old as that.
 */
async function project(store: Store): Promise<void> {
  await using projector = await createProjector({ store });
  const until = performance.now() + PROJECT_LIMIT_MS;
  while (projector.status().lagMs !== 0 && performance.now() < until) await sleep(POLL_MS);
}
