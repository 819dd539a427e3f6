/** Fills a store with the demo: a week of runs, sessions, jobs and records, the same for the same seed and time. */
import { type Store, TidemarkError } from '@tidemark/core';
import { open } from 'tidemark';
import { DemoClock } from './clock.ts';
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
  /** The present of the demo, in milliseconds. */
  now?: number;
}

/** Opens the store by its URL with a clock of its own, fills it and closes it. One that holds runs already is refused. */
export async function fillDemo(url: string, { seed = 7, now = Date.now() }: DemoOptions = {}): Promise<DemoCounts> {
  const clock = new DemoClock(now);
  const random = new Random(seed);
  const store = await open(url, { clock: clock.read });
  try {
    return await fillStore(store, random, clock);
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
  return {
    runs: await fillRuns(store.runs, random, clock),
    sessions: await fillSessions(store, random, clock),
    jobs: await fillJobs(store, random, clock),
  };
}
