/**
 * The libraries that Tidemark is compared with, each through its public API. They are installed with
 * `npm ci --prefix bench/neighbours`, not with the repository, so their types are declared here as far as they are used.
 */
import type { Store } from '@tidemark/core';
import { createWorker } from '@tidemark/runtime';

const TYPE = 'bench';

/** A key-value store. */
export interface KvContender {
  name: string;
  set(key: string, value: string): Promise<unknown>;
  get(key: string): Promise<unknown>;
  close(): Promise<unknown>;
}

/** A job queue. */
export interface JobsContender {
  name: string;
  enqueue(id: string): Promise<unknown>;
  /** Claims and completes `count` jobs with some workers. */
  work(workers: number, count: number): Promise<unknown>;
  close(): Promise<unknown>;
}

/** Imports a package whose types are not installed. */
export async function load<T>(name: string): Promise<T> {
  return (await import(name)) as T;
}

export function tidemarkKv(store: Store): KvContender {
  return {
    name: 'tidemark',
    set: (key, value) => store.kv.setField(key, 'value', value),
    get: (key) => store.kv.getField(key, 'value'),
    close: () => store.close(),
  };
}

export function tidemarkJobs(store: Store): JobsContender {
  return {
    name: 'tidemark',
    enqueue: (taskId) => store.jobs.enqueue({ taskType: TYPE, taskId }),
    work: async (workers, count) => {
      const done = countdown(count);
      // The signal is published once the end of a job is stored.
      const publish = async (subject: string) => {
        if (subject.endsWith('.terminal')) done.one();
      };
      const handler = async () => {};
      const worker = createWorker({ store, taskType: TYPE, concurrency: workers, pollEvery: 100, handler, publish });
      worker.start();
      await done.all;
      await worker.stop();
    },
    close: () => store.close(),
  };
}

interface KeyvModule {
  default: new (options: {
    store: unknown;
  }) => {
    set(key: string, value: string): Promise<unknown>;
    get(key: string): Promise<unknown>;
    disconnect(): Promise<unknown>;
  };
}

export async function keyv(adapter: '@keyv/postgres' | '@keyv/redis', url: string): Promise<KvContender> {
  const { default: Keyv } = await load<KeyvModule>('keyv');
  const { default: Adapter } = await load<{ default: new (url: string) => unknown }>(adapter);
  const store = new Keyv({ store: new Adapter(url) });
  const set = (key: string, value: string) => store.set(key, value);
  return { name: 'keyv', set, get: (key) => store.get(key), close: () => store.disconnect() };
}

interface UnstorageModule {
  createStorage(options: { driver: unknown }): {
    setItem(key: string, value: string): Promise<unknown>;
    getItem(key: string): Promise<unknown>;
    dispose(): Promise<unknown>;
  };
}

export async function unstorage(url: string): Promise<KvContender> {
  const { createStorage } = await load<UnstorageModule>('unstorage');
  const { default: driver } = await load<{ default: (options: object) => unknown }>('unstorage/drivers/redis');
  const storage = createStorage({ driver: driver({ url }) });
  const set = (key: string, value: string) => storage.setItem(key, value);
  return { name: 'unstorage', set, get: (key) => storage.getItem(key), close: () => storage.dispose() };
}

interface BossModule {
  default: new (
    options: object,
  ) => {
    start(): Promise<unknown>;
    stop(options: object): Promise<unknown>;
    createQueue(name: string): Promise<unknown>;
    send(name: string, data: object): Promise<unknown>;
    fetch(name: string): Promise<{ id: string }[]>;
    complete(name: string, id: string): Promise<unknown>;
  };
}

export async function pgBoss(url: string): Promise<JobsContender> {
  const { default: Boss } = await load<BossModule>('pg-boss');
  const boss = new Boss({ connectionString: url, supervise: false, schedule: false });
  await boss.start();
  await boss.createQueue(TYPE);
  return {
    name: 'pg-boss',
    enqueue: (id) => boss.send(TYPE, { id }),
    work: (workers, count) =>
      untilDone(workers, count, async () => {
        const [job] = await boss.fetch(TYPE);
        if (job) await boss.complete(TYPE, job.id);
        return job ? 1 : 0;
      }),
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
    work: async (workers, count) => {
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
    work: async (workers, count) => {
      const done = countdown(count);
      const worker = new Worker(TYPE, async () => {}, { ...options, concurrency: workers });
      worker.on('completed', () => done.one());
      await done.all;
      await worker.close();
    },
    close: () => queue.close(),
  };
}

function countdown(count: number): { one: () => void; all: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  const one = () => {
    if (--left === 0) resolve();
  };
  return { one, all: promise };
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
