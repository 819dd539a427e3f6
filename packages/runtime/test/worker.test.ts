/** The worker: every job is done once by the worker that holds it, and a worker that lost it stops. */
import { type Job, type JobState, memoryStore, type Store, TidemarkError } from '@tidemark/core';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import {
  createSweeper,
  createWorker,
  inProcessPublisher,
  type JobSignal,
  subjectOf,
  type WorkerOptions,
} from '../src/index.ts';

const TYPE = 'email-send';
let store: Store;

beforeEach(() => {
  store = memoryStore();
});

afterEach(() => store.close());

function start(options: Partial<WorkerOptions> & Pick<WorkerOptions, 'handler'>) {
  const worker = createWorker({ store, taskType: TYPE, pollEvery: 10, ...options });
  worker.start();
  onTestFinished(() => worker.stop());
  return worker;
}

async function until(taskId: string, state: JobState): Promise<Job> {
  return vi.waitFor(
    async () => {
      const job = await store.jobs.get({ taskType: TYPE, taskId });
      expect(job?.state).toBe(state);
      return job!;
    },
    { timeout: 20_000, interval: 5 },
  );
}

const enqueue = (taskId: string, more = {}) => store.jobs.enqueue({ taskType: TYPE, taskId, ...more });

describe('a worker', () => {
  it('runs every job once, a limited number at a time, and publishes steps and ends', async () => {
    const done: string[] = [];
    const received: string[] = [];
    let [busy, most] = [0, 0];
    for (let n = 0; n < 20; n++) await enqueue(`job-${n}`);
    start({
      concurrency: 4,
      worker: 'ada',
      publish: async (subject, { taskId, state }) => void received.push(`${subject} ${taskId} ${state}`),
      handler: async ({ job, progress }) => {
        most = Math.max(most, ++busy);
        await progress(1, 2);
        done.push(job.taskId);
        busy--;
        return { resultRef: `result of ${job.taskId}` };
      },
    });
    for (let n = 0; n < 20; n++) {
      expect(await until(`job-${n}`, 'completed')).toMatchObject({
        worker: 'ada',
        currentStep: 1,
        stepCount: 2,
        resultRef: `result of job-${n}`,
      });
    }
    expect(done.sort()).toEqual([...new Set(done)]);
    expect(most).toBe(4);
    expect(received).toContain(`${subjectOf(TYPE, 'progress')} job-7 running`);
    await expect.poll(() => received).toContain(`${subjectOf(TYPE, 'terminal')} job-7 completed`);
  });

  it('claims the next job while the end of the last one is being stored, and runs one handler at a time', async () => {
    for (const taskId of ['a', 'b', 'c']) await enqueue(taskId);
    const claims: string[] = [];
    const claimed = (count: number) => vi.waitFor(() => expect(claims.length).toBeGreaterThanOrEqual(count));
    let [busy, most, ended] = [0, 0, 0];
    const jobs: Store['jobs'] = Object.create(store.jobs, {
      claim: {
        value: async (...args: Parameters<Store['jobs']['claim']>) => {
          const claim = await store.jobs.claim(...args);
          if (claim) claims.push(claim.taskId);
          return claim;
        },
      },
      heartbeat: { value: store.jobs.heartbeat.bind(store.jobs) },
      complete: {
        value: async (...args: Parameters<Store['jobs']['complete']>) => {
          // Waits for the claim of the job after this one.
          await claimed(Math.min(++ended + 1, 3));
          return store.jobs.complete(...args);
        },
      },
    });
    start({
      store: { jobs },
      handler: async () => {
        most = Math.max(most, ++busy);
        await new Promise((resolve) => setTimeout(resolve, 5));
        busy--;
      },
    });
    for (const taskId of ['a', 'b', 'c']) await until(taskId, 'completed');
    expect(most).toBe(1);
    expect(claims).toHaveLength(3);
  });

  it('claims a job again at once after it failed, without waiting for the next poll', async () => {
    await enqueue('job', { maxRetries: 3 });
    let tries = 0;
    start({
      pollEvery: '1h',
      handler: async () => {
        if (++tries < 4) throw new Error('not yet');
      },
    });
    expect(await until('job', 'completed')).toMatchObject({ retryCount: 3 });
  });

  it('requeues a job whose handler throws until the retries are used up', async () => {
    const errors: unknown[] = [];
    await enqueue('job', { maxRetries: 2 });
    start({
      retryDelay: 1,
      onError: (error) => errors.push(error),
      handler: async () => {
        throw new Error('no \0 luck \ud800');
      },
    });
    expect(await until('job', 'failed')).toMatchObject({ retryCount: 2, error: 'no \uFFFD luck \uFFFD' });
    expect(errors).toHaveLength(3);
  });

  it('keeps a long job by heartbeats', async () => {
    await enqueue('long');
    const sweeper = createSweeper({ store, threshold: '1h', interval: 20 });
    sweeper.start();
    onTestFinished(() => sweeper.stop());
    start({ lease: 800, handler: () => new Promise((resolve) => setTimeout(resolve, 2_000)) });
    expect(await until('long', 'completed')).toMatchObject({ retryCount: 0 });
  });

  it("aborts the handler's signal when the job is lost, and ignores its result", async () => {
    await enqueue('job');
    const errors: unknown[] = [];
    const reasons: unknown[] = [];
    start({
      lease: 90,
      onError: (error) => errors.push(error),
      handler: ({ job, signal }) =>
        new Promise((resolve) => {
          signal.addEventListener('abort', () => {
            reasons.push(signal.reason);
            resolve({ resultRef: 'too late' });
          });
          void store.jobs.cancel(job);
        }),
    });
    await expect.poll(() => errors).toHaveLength(1);
    expect(reasons).toEqual([expect.objectContaining({ code: 'CLAIM_LOST' })]);
    expect(await until('job', 'cancelled')).not.toHaveProperty('resultRef');
  });

  it('treats the job as lost when no heartbeat succeeds for a whole lease', async () => {
    await enqueue('job');
    const jobs = new Proxy(store.jobs, {
      get: (target, name) =>
        name === 'heartbeat'
          ? () => Promise.reject(new TidemarkError('UNAVAILABLE', 'cut off'))
          : Reflect.get(target, name).bind(target),
    });
    const began = performance.now();
    const lostAfter = await new Promise<number>((resolve) => {
      start({
        store: { jobs },
        lease: 120,
        handler: ({ signal }) =>
          new Promise((_, reject) => {
            signal.addEventListener('abort', () => {
              resolve(performance.now() - began);
              reject(signal.reason);
            });
          }),
      });
    });
    expect(lostAfter).toBeGreaterThanOrEqual(119);
    expect(await until('job', 'claimed'), 'and leaves it to a sweep').toMatchObject({ retryCount: 0 });
  });

  it('retries calls whose replies are lost: nothing is claimed or counted twice', async () => {
    for (let n = 0; n < 5; n++) await enqueue(`job-${n}`);
    let calls = 0;
    const jobs = new Proxy(store.jobs, {
      get: (target, name) => {
        const method = Reflect.get(target, name).bind(target);
        if (!['claim', 'complete', 'progress'].includes(String(name))) return method;
        return async (...args: unknown[]) => {
          const result = await method(...args);
          if (result === null || calls++ % 2 === 1) return result;
          // As in a store, the error carries the call to retry, with the claim id that was created for it.
          const again = [args[0], { ...Object(args[1]), claimId: result.claimId }];
          const write = { domain: 'jobs', method: name, args: again };
          throw Object.assign(new TidemarkError('OUTCOME_UNKNOWN', 'The reply was lost'), { write });
        };
      },
    });
    const done: string[] = [];
    start({
      store: { jobs },
      handler: async ({ job, progress }) => {
        await progress(1);
        done.push(job.taskId);
      },
    });
    for (let n = 0; n < 5; n++) await until(`job-${n}`, 'completed');
    expect(done.sort()).toEqual(['job-0', 'job-1', 'job-2', 'job-3', 'job-4']);
    expect(await store.jobs.types('claimed')).toEqual([]);
  });

  it('parks a job without counting a retry, and runs it again when it is due or woken', async () => {
    const runs: [string, number][] = [];
    const received: string[] = [];
    await enqueue('soon', { maxRetries: 0 });
    await enqueue('later', { maxRetries: 0 });
    start({
      publish: async (subject, { taskId }) => void received.push(`${subject} ${taskId}`),
      handler: async ({ job, progress, park }) => {
        runs.push([job.taskId, job.currentStep ?? 0]);
        if (job.currentStep === 1) return { resultRef: 'done' };
        await progress(1);
        return park(job.taskId === 'soon' ? { until: Date.now() + 20 } : '1h');
      },
    });
    const done = { retryCount: 0, resultRef: 'done' };
    expect(await until('soon', 'completed')).toMatchObject(done);
    const [parked] = (await store.jobs.list('delayed')).items;
    expect(parked).toMatchObject({ taskId: 'later', retryCount: 0 });
    expect(received, 'no signal invites workers to a job that is not due').not.toContain(
      `${subjectOf(TYPE, 'queue')} later`,
    );
    await store.jobs.wake({ taskType: TYPE, taskId: 'later' });
    expect(await until('later', 'completed')).toMatchObject(done);
    expect(runs.filter(([taskId]) => taskId === 'later')).toEqual([
      ['later', 0],
      ['later', 1],
    ]);
  });

  it('fails a job whose handler throws after calling park, or calls it with an invalid time', async () => {
    await enqueue('throws', { maxRetries: 0 });
    await enqueue('invalid', { maxRetries: 0 });
    start({
      handler: async ({ job, park }) => {
        park(job.taskId === 'throws' ? '1h' : 'soon');
        throw new Error('broken');
      },
    });
    expect(await until('throws', 'failed')).toMatchObject({ error: 'broken' });
    expect((await until('invalid', 'failed')).error).toContain('delay');
  });

  it('takes jobs whose lease has expired without a sweep, if enabled', async () => {
    await enqueue('job');
    await store.jobs.claim({ taskType: TYPE }, { worker: 'gone', lease: 1 });
    start({ worker: 'ada', takeExpired: true, handler: async () => {} });
    expect(await until('job', 'completed')).toMatchObject({ worker: 'ada', retryCount: 1 });
  });

  it('is woken by a signal long before its next poll', async () => {
    const signals = inProcessPublisher();
    const subject = subjectOf(TYPE, 'queue');
    start({
      pollEvery: '1h',
      wake: (notify) => signals.subscribe(subject, notify),
      handler: async () => {},
    });
    await new Promise((resolve) => setTimeout(resolve, 30));
    await enqueue('job');
    await signals.publish(subject, {} as JobSignal);
    await until('job', 'completed');
  });

  it('finishes its current jobs when it is stopped, and claims no more', async () => {
    await enqueue('first');
    const [begun, finish] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    const worker = start({
      handler: () => {
        begun.resolve();
        return finish.promise;
      },
    });
    await begun.promise;
    await enqueue('second');
    const stopped = worker.stop();
    finish.resolve();
    await stopped;
    expect(await store.jobs.get({ taskType: TYPE, taskId: 'first' })).toMatchObject({ state: 'completed' });
    expect(await store.jobs.get({ taskType: TYPE, taskId: 'second' })).toMatchObject({ state: 'pending' });
  });
});
