/**
 * Jobs under loss (KV-7, KV-8): of many workers in several processes some are killed, some are frozen past their lease
 * and some sleep past it, while two sweepers return their jobs to the queue. Every job must be completed exactly once,
 * by a valid claim. `--url sqlite:… --jobs 10000 --workers 100 --processes 10 --lease 2000 --seed N`.
 */
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';
import type { Job, Store } from '@tidemark/core';
import { createSweeper, type Sweeper } from '@tidemark/runtime';
import { open } from 'tidemark';
import { WriterProcess } from './children.ts';
import { checkJobs, readJobNotes, TASK_TYPE } from './job-notes.ts';
import { newSeed, Random } from './random.ts';

const folder = mkdtempSync(join(tmpdir(), 'tidemark-jobs-'));
const notesFile = join(folder, 'notes');

const { values } = parseArgs({
  options: {
    url: { type: 'string', default: `sqlite:${join(folder, 'store.db')}` },
    jobs: { type: 'string', default: '10000' },
    workers: { type: 'string', default: '100' },
    processes: { type: 'string', default: '10' },
    lease: { type: 'string', default: '2000' },
    seed: { type: 'string', default: String(newSeed()) },
  },
});

const [jobCount, processCount, leaseMs] = [Number(values.jobs), Number(values.processes), Number(values.lease)];
const perProcess = Math.ceil(Number(values.workers) / processCount);
const random = new Random(Number(values.seed));
/** The approximate number of jobs for which a worker sleeps past its lease. */
const OVERSLEPT = 20;
const ENQUEUED_AT_ONCE = 100;
const SWEEP_EVERY_MS = 200;
/** A hundred workers on a small machine make every call slow. */
const SLOW_MACHINE = { timeoutMs: 15_000 };

async function enqueue(store: Store): Promise<void> {
  for (let from = 0; from < jobCount; from += ENQUEUED_AT_ONCE) {
    const size = Math.min(ENQUEUED_AT_ONCE, jobCount - from);
    const ids = Array.from({ length: size }, (_, index) => `job-${from + index}`);
    const more = { maxRetries: 100 };
    await Promise.all(ids.map((taskId) => store.jobs.enqueue({ taskType: TASK_TYPE, taskId, ...more })));
  }
}

function startProcess(): WriterProcess {
  const args = ['--url', values.url, '--seed', String(random.between(0, 2 ** 31)), '--workers', String(perProcess)];
  const oversleep = String(Math.ceil(jobCount / OVERSLEPT));
  return new WriterProcess('job-worker', [...args, '--lease', values.lease, '--oversleep', oversleep], notesFile);
}

async function countDone(store: Store): Promise<number> {
  return (await completedJobs(store)).length;
}

async function completedJobs(store: Store): Promise<Job[]> {
  const jobs: Job[] = [];
  let cursor: string | undefined;
  do {
    const page = await store.jobs.list('completed', { taskType: TASK_TYPE, limit: 1_000, cursor });
    jobs.push(...page.items);
    cursor = page.next;
  } while (cursor !== undefined);
  return jobs;
}

/** Kills a tenth of the processes and freezes another tenth past the lease, while jobs are being done. */
async function loseWorkers(store: Store, processes: WriterProcess[]): Promise<WriterProcess[]> {
  const lost = Math.max(1, Math.round(processCount / 10));
  while ((await countDone(store)) < jobCount / 5) await sleep(50);
  const [killed, frozen] = [processes.slice(0, lost), processes.slice(lost, 2 * lost)];
  for (const it of frozen) it.freeze();
  for (const it of killed) await it.kill();
  await sleep(leaseMs + 3 * SWEEP_EVERY_MS + random.between(0, 500));
  for (const it of frozen) it.thaw();
  return processes.slice(lost);
}

function startSweeper(store: Store, counts: { requeued: number; problems: unknown[] }): Sweeper {
  const sweeper = createSweeper({
    store,
    interval: SWEEP_EVERY_MS,
    threshold: '1h',
    limit: 1_000,
    onReport: ({ types, problems }) => {
      counts.requeued += types[TASK_TYPE]?.requeued ?? 0;
      counts.problems.push(...problems);
    },
  });
  sweeper.start();
  return sweeper;
}

async function main(): Promise<void> {
  console.error(`jobs: ${jobCount} jobs, ${perProcess * processCount} workers, seed ${values.seed}, ${values.url}`);
  writeFileSync(notesFile, '');
  const stores = [await open(values.url, SLOW_MACHINE), await open(values.url, SLOW_MACHINE)] as const;
  const counts = { requeued: 0, problems: [] as unknown[] };
  await enqueue(stores[0]);
  const began = performance.now();
  const sweepers = stores.map((store) => startSweeper(store, counts));
  const processes = Array.from({ length: processCount }, startProcess);
  try {
    const left = await loseWorkers(stores[0], processes);
    for (const it of left) if ((await it.end()) !== 0) throw new Error(`A worker failed: ${it.errors}`);
  } finally {
    for (const it of processes) await it.kill();
  }
  const seconds = (performance.now() - began) / 1000;
  for (const sweeper of sweepers) await sweeper.stop();
  const jobs = await completedJobs(stores[0]);
  for (const store of stores) await store.close();
  summarize(jobs, seconds, counts);
}

function summarize(jobs: readonly Job[], seconds: number, counts: { requeued: number; problems: unknown[] }): void {
  const notes = readJobNotes(notesFile);
  const wrong = checkJobs(jobs, notes, jobCount);
  const sentBack = jobs.reduce((sum, { retryCount }) => sum + retryCount, 0);
  if (sentBack !== counts.requeued && counts.problems.length === 0) {
    wrong.push(`Jobs were sent back ${sentBack} times, but sweepers say ${counts.requeued}`);
  }
  for (const sentence of wrong.slice(0, 20)) console.error(sentence);
  for (const problem of counts.problems.slice(0, 5)) console.error('A sweep could not finish:', problem);
  const lost = notes.filter(({ kind }) => kind === 'lost').length;
  console.log(
    `jobs: ${jobs.length} completed once, ${sentBack} sent back, ${lost} zombies heard CLAIM_LOST, ` +
      `${wrong.length} problems, ${seconds.toFixed(1)} s, seed ${values.seed}`,
  );
  // A run without lost claims proves nothing.
  if (wrong.length > 0 || lost === 0 || sentBack === 0) process.exitCode = 1;
}

try {
  await main();
  if (process.exitCode !== 1) rmSync(folder, { recursive: true });
} finally {
  if (existsSync(folder)) console.error(`Kept for a look: ${folder}`);
}
