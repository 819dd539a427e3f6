/** Job queues, each through its public API. */
import { setTimeout as sleep } from 'node:timers/promises';
import { countdown, type JobsContender, load } from './kinds.ts';

const TYPE = 'bench';

interface BossModule {
  default: new (
    options: object,
  ) => {
    start(): Promise<unknown>;
    stop(options: object): Promise<unknown>;
    createQueue(name: string): Promise<unknown>;
    send(name: string, data: object): Promise<unknown>;
    insert(name: string, jobs: object[]): Promise<unknown>;
    fetch(name: string, options?: { batchSize: number }): Promise<{ id: string }[]>;
    complete(name: string, id: string): Promise<unknown>;
    supervise(name: string): Promise<void>;
  };
}

/** A queue of its own, so that workers of other scenarios do not fetch what a sweep is about to find. */
const SWEPT_QUEUE = 'swept';

export async function pgBoss(url: string): Promise<JobsContender> {
  const { default: Boss } = await load<BossModule>('pg-boss');
  const boss = new Boss({ connectionString: url, supervise: false, schedule: false });
  await boss.start();
  await boss.createQueue(TYPE);
  await boss.createQueue(SWEPT_QUEUE);
  let waiting = 0;
  return {
    name: 'pg-boss',
    enqueue: (id) => boss.send(TYPE, { id }),
    work: (workers, count) =>
      untilDone(workers, count, async () => {
        const [job] = await boss.fetch(TYPE);
        if (job) await boss.complete(TYPE, job.id);
        return job ? 1 : 0;
      }),
    async abandon(count, others) {
      const job = { data: {}, expireInSeconds: 1, retryLimit: 100 };
      const missing = count + others - waiting;
      await boss.insert(
        SWEPT_QUEUE,
        Array.from({ length: missing }, () => job),
      );
      const claimed = await boss.fetch(SWEPT_QUEUE, { batchSize: count });
      if (claimed.length !== count) throw new Error(`pg-boss fetched ${claimed.length} of ${count} jobs`);
      waiting = others + count;
      await sleep(1_100);
    },
    // It does not report how many jobs it returned to the queue.
    sweep: () => boss.supervise(SWEPT_QUEUE) as Promise<undefined>,
    close: () => boss.stop({ graceful: false }),
  };
}

interface GraphileModule {
  makeWorkerUtils(options: object): Promise<{
    migrate(): Promise<unknown>;
    addJob(task: string, payload: object): Promise<unknown>;
    release(): Promise<unknown>;
  }>;
  run(options: object): Promise<{ stop(): Promise<unknown> }>;
  Logger: new (factory: () => () => void) => unknown;
}

export async function graphileWorker(url: string): Promise<JobsContender> {
  const { makeWorkerUtils, run, Logger } = await load<GraphileModule>('graphile-worker');
  const quiet = { connectionString: url, logger: new Logger(() => () => {}) };
  const utils = await makeWorkerUtils(quiet);
  await utils.migrate();
  return {
    name: 'graphile-worker',
    enqueue: (id) => utils.addJob(TYPE, { id }),
    async work(workers, count) {
      const done = countdown(count);
      const taskList = { [TYPE]: async () => done.one() };
      const runner = await run({ ...quiet, concurrency: workers, noHandleSignals: true, pollInterval: 100, taskList });
      await done.all;
      await runner.stop();
    },
    close: () => utils.release(),
  };
}

interface BullModule {
  Queue: new (
    name: string,
    options: object,
  ) => {
    add(name: string, data: object): Promise<unknown>;
    close(): Promise<unknown>;
  };
  Worker: new (
    name: string,
    handler: () => Promise<void>,
    options: object,
  ) => {
    on(event: 'completed', listener: () => void): unknown;
    close(): Promise<unknown>;
  };
}

export async function bullMq(url: string): Promise<JobsContender> {
  const { Queue, Worker } = await load<BullModule>('bullmq');
  const { hostname: host, port } = new URL(url);
  const options = { connection: { host, port: Number(port), maxRetriesPerRequest: null } };
  const queue = new Queue(TYPE, options);
  return {
    name: 'bullmq',
    enqueue: (id) => queue.add(TYPE, { id }),
    async work(workers, count) {
      const done = countdown(count);
      const worker = new Worker(TYPE, async () => {}, { ...options, concurrency: workers });
      worker.on('completed', () => done.one());
      await done.all;
      await worker.close();
    },
    close: () => queue.close(),
  };
}

/** Runs loops until together they have done `count` jobs. */
async function untilDone(workers: number, count: number, step: () => Promise<number>): Promise<void> {
  let left = count;
  const loop = async () => {
    while (left > 0) {
      const ended = await step();
      left -= ended;
    }
  };
  await Promise.all(Array.from({ length: workers }, loop));
}
