/**
 * Jobs: the cost of a sweep of 100 stuck jobs among 1 000 000 others, compared with 10 000 (KV-8). On SQLite in two
 * files, or on any engine with `--url=…`, in two tenants.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { Store } from '@tidemark/core';
import { createSweeper } from '@tidemark/runtime';
import { open } from 'tidemark';
import { atMost, type Figure, median } from './measure.ts';

export const STUCK = 100;
const ROUNDS = 9;
const AT_ONCE = 200;
export const JOB_TYPE = 'bench';
export const jobKey = (taskId: string) => `gbe.state.tasks.${JOB_TYPE}.${taskId}`;

/** Jobs as in a real queue: most have ended, some are waiting, some are in progress. */
function otherJob(index: number): Record<string, string | number> {
  const now = Date.now();
  const state = ['pending', 'running', 'failed', 'cancelled'][index % 40] ?? 'completed';
  const job = { state, task_type: JOB_TYPE, task_id: `job-${index}`, created_at: now, updated_at: now + index };
  return state === 'running' ? { ...job, timeout_at: now + 86_400_000, claim_id: `c-${index}` } : job;
}

export async function fillJobs(store: Pick<Store, 'kv'>, count: number, report: (line: string) => void): Promise<void> {
  for (let from = 0; from < count; from += AT_ONCE) {
    const size = Math.min(AT_ONCE, count - from);
    await Promise.all(
      Array.from({ length: size }, (_, at) => store.kv.put(jobKey(`job-${from + at}`), otherJob(from + at))),
    );
    if ((from + size) % 200_000 === 0) report(`${from + size} jobs stored`);
  }
}

/** Returns the duration in milliseconds of one sweep, which returns all stuck jobs to the queue. */
async function sweepOnce(store: Pick<Store, 'kv' | 'jobs'>): Promise<number> {
  const stuck = Array.from({ length: STUCK }, (_, index) => jobKey(`stuck-${index}`));
  const lapsed = { state: 'claimed', worker: 'eve', created_at: 1, updated_at: Date.now(), timeout_at: 1 };
  await Promise.all(stuck.map((it) => store.kv.put(it, lapsed)));
  const { durationMs, types } = await createSweeper({ store, threshold: '1d', limit: 1_000 }).run();
  if (types[JOB_TYPE]?.requeued !== STUCK)
    throw new Error(`A sweep returned ${types[JOB_TYPE]?.requeued} of ${STUCK} jobs to the queue`);
  await Promise.all(stuck.map((it) => store.kv.delete(it)));
  return durationMs;
}

export async function benchJobs(report: (line: string) => void, quick: boolean): Promise<Figure[]> {
  const { values } = parseArgs({ options: { url: { type: 'string' } }, strict: false });
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-bench-'));
  const [many, few] = [quick ? 100_000 : 1_000_000, 10_000];
  const urls = ['many', 'few'].map((name) => (values.url as string) ?? `sqlite:${join(directory, `${name}.db`)}`);
  const stores = await Promise.all(urls.map((url) => open(url, { timeoutMs: 60_000 })));
  const [large, small] = [stores[0]!.forTenant('many'), stores[1]!.forTenant('few')];
  try {
    await fillJobs(large, many, report);
    await fillJobs(small, few, report);
    const costs = { ours: [] as number[], raw: [] as number[] };
    for (let round = 0; round <= ROUNDS; round++) {
      costs.raw.push(await sweepOnce(small));
      costs.ours.push(await sweepOnce(large));
    }
    // The first round warms up both.
    const [ours, raw] = [median(costs.ours.slice(1)), median(costs.raw.slice(1))];
    return [atMost(2, `sweep of ${STUCK} stuck jobs among ${many} against ${few}`, 'ms', { ours, raw })];
  } finally {
    await Promise.all(stores.map((store) => store.close()));
    rmSync(directory, { recursive: true });
  }
}
