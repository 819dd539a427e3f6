/**
 * The sweeper: which jobs it recovers, which signals it publishes, and that several sweepers do nothing twice (KV-8).
 */
import { memoryStore, type Store, TidemarkError } from '@tidemark/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createSweeper, inProcessPublisher, type JobSignal, type Publish, subjectOf } from '../src/index.ts';
import { recordingMeter } from './recording-meter.ts';

const TYPE = 'email-send';
const MINUTE = 60_000;

let now: number;
let store: Store;
let received: [subject: string, signal: JobSignal][];
const publish: Publish = async (subject, signal) => void received.push([subject, signal]);

beforeEach(() => {
  now = 1_000_000;
  store = memoryStore({ clock: () => now });
  received = [];
});

afterEach(() => store.close());

async function claimed(taskId: string, maxRetries = 3, lease: string | number = '1m') {
  await store.jobs.enqueue({ taskType: TYPE, taskId, maxRetries });
  return (await store.jobs.claim({ taskType: TYPE, taskId }, { worker: 'ada', lease }))!;
}

const subjects = () => received.map(([subject, { taskId }]) => `${subject} ${taskId}`).sort();

describe('a sweep', () => {
  it('recovers every kind of overdue job, publishes a signal for each after the write, and reports', async () => {
    await claimed('stuck');
    await claimed('dead', 0);
    await claimed('healthy', 3, '1h');
    await store.jobs.enqueue({ taskType: TYPE, taskId: 'due', delay: '1m' });
    await store.jobs.enqueue({ taskType: TYPE, taskId: 'later', delay: '1h' });
    await store.jobs.enqueue({ taskType: 'other', taskId: 'forgotten' });
    now += 2 * MINUTE;
    const states: (string | undefined)[] = [];
    const watching: Publish = async (subject, signal) => {
      states.push((await store.jobs.get(signal))?.state);
      return publish(subject, signal);
    };
    const threshold = { default: '10m', other: '1m' };
    const report = await createSweeper({ store, publish: watching, threshold }).run();
    const none = { seen: 0, requeued: 0, failed: 0, released: 0, signalled: 0, missed: 0, published: 0, errors: 0 };
    expect(report.types).toEqual({
      [TYPE]: { ...none, seen: 3, requeued: 1, failed: 1, released: 1, published: 3 },
      other: { ...none, seen: 1, signalled: 1, published: 1 },
    });
    expect(report.problems).toEqual([]);
    expect(subjects()).toEqual([
      `${subjectOf(TYPE, 'queue')} due`,
      `${subjectOf(TYPE, 'queue')} stuck`,
      `${subjectOf(TYPE, 'terminal')} dead`,
      `${subjectOf('other', 'queue')} forgotten`,
    ]);
    expect(states.sort(), 'published after the write').toEqual(['failed', 'pending', 'pending', 'pending']);
    expect((await createSweeper({ store, publish, threshold }).run()).types, 'and nothing is left').toEqual({});
  });

  it('records its duration, the outcome of each job, and errors', async () => {
    await claimed('stuck');
    await claimed('stuck too');
    await claimed('dead', 0);
    now += 2 * MINUTE;
    const { meter, points } = recordingMeter();
    const failing: Publish = (subject, signal) =>
      signal.taskId === 'dead' ? Promise.reject(new Error('no way')) : publish(subject, signal);
    const sweeper = createSweeper({ store, publish: failing, threshold: '1h', meter });
    const { durationMs } = await sweeper.run();
    expect(points).toEqual([
      ['tidemark.sweep.duration', durationMs, undefined],
      ['tidemark.sweep.jobs', 2, { type: TYPE, outcome: 'requeued' }],
      ['tidemark.sweep.jobs', 1, { type: TYPE, outcome: 'failed' }],
      ['tidemark.sweep.errors', 1, undefined],
    ]);
  });

  it('takes at most its limit per type, and the rest next time', async () => {
    for (let n = 0; n < 5; n++) await claimed(`job-${n}`);
    now += 2 * MINUTE;
    const sweeper = createSweeper({ store, limit: 3 });
    expect((await sweeper.run()).types[TYPE]).toMatchObject({ seen: 3, requeued: 3 });
    expect((await sweeper.run()).types[TYPE]).toMatchObject({ seen: 2, requeued: 2 });
  });

  it('changes and publishes nothing in a dry run', async () => {
    const { job } = await claimed('stuck');
    now += 2 * MINUTE;
    const report = await createSweeper({ store, publish, dryRun: true }).run();
    expect(report.found).toEqual([{ job, reason: 'lease ended' }]);
    expect(report.types[TYPE]).toMatchObject({ seen: 1, requeued: 0 });
    expect(await store.jobs.get(job)).toEqual(job);
    expect(received).toEqual([]);
  });

  it("' recovers nothing twice if several sweepers run", async () => {
    for (let n = 0; n < 40; n++) await claimed(`job-${n}`, n % 2 === 0 ? 0 : 3);
    now += 2 * MINUTE;
    const reports = await Promise.all(Array.from({ length: 4 }, () => createSweeper({ store, publish }).run()));
    const sum = (field: 'requeued' | 'failed' | 'missed') =>
      reports.reduce((total, { types }) => total + (types[TYPE]?.[field] ?? 0), 0);
    expect([sum('requeued'), sum('failed')]).toEqual([20, 20]);
    expect(sum('missed'), 'they did meet').toBeGreaterThan(0);
    expect(new Set(subjects()).size).toBe(40);
    expect(received).toHaveLength(40);
  });
});

describe('a signal that cannot be published', () => {
  it('is published by the next sweep', async () => {
    await claimed('stuck');
    await claimed('dead', 0);
    now += 2 * MINUTE;
    let isDown = true;
    const failing: Publish = (subject, signal) =>
      isDown ? Promise.reject(new Error('no way')) : publish(subject, signal);
    const sweeper = createSweeper({ store, publish: failing, threshold: '1h' });
    const first = await sweeper.run();
    expect(first.types[TYPE]).toMatchObject({ requeued: 1, failed: 1, published: 0, errors: 2 });
    expect(first.problems[0]).toMatchObject({ taskType: TYPE, error: new Error('no way') });
    isDown = false;
    expect((await sweeper.run()).types[TYPE]).toMatchObject({ seen: 0, published: 2, errors: 0 });
    expect(subjects()).toEqual([`${subjectOf(TYPE, 'queue')} stuck`, `${subjectOf(TYPE, 'terminal')} dead`]);
    expect((await sweeper.run()).types, 'once is enough').toEqual({});
  });

  it('is published by another sweeper after the threshold if its own is gone', async () => {
    await claimed('stuck');
    await claimed('dead', 0);
    now += 2 * MINUTE;
    const crashing: Publish = () => Promise.reject(new Error('the process ends here'));
    await createSweeper({ store, publish: crashing, threshold: '10m' }).run();
    const other = createSweeper({ store, publish, threshold: '10m' });
    expect((await other.run()).types, 'the first may still be about to').toEqual({});
    now += 11 * MINUTE;
    expect((await other.run()).types[TYPE]).toMatchObject({ signalled: 2, published: 2 });
    expect(subjects()).toEqual([`${subjectOf(TYPE, 'queue')} stuck`, `${subjectOf(TYPE, 'terminal')} dead`]);
  });
});

describe('a lost reply', () => {
  it('is settled by retrying the recovery: one recovery, one signal', async () => {
    await claimed('stuck');
    now += 2 * MINUTE;
    let lost = 0;
    const jobs = new Proxy(store.jobs, {
      get: (target, name) => {
        const method = Reflect.get(target, name).bind(target);
        if (name !== 'recover') return method;
        return async (...args: unknown[]) => {
          const result = await method(...args);
          if (lost++ < 2) throw new TidemarkError('OUTCOME_UNKNOWN', 'The reply was lost');
          return result;
        };
      },
    });
    const report = await createSweeper({ store: { jobs }, publish }).run();
    expect(report.types[TYPE]).toMatchObject({ requeued: 1, missed: 0, published: 1, errors: 0 });
    expect(await store.jobs.get({ taskType: TYPE, taskId: 'stuck' })).toMatchObject({ retryCount: 1 });
  });
});

describe('the loop', () => {
  it('sweeps until it is stopped, and continues after a failed sweep', async () => {
    let sweeps = 0;
    let reached = () => {};
    const three = new Promise<void>((resolve) => {
      reached = resolve;
    });
    const jobs = new Proxy(store.jobs, {
      get: (target, name) =>
        name === 'types' && sweeps === 0
          ? () => Promise.reject(new Error('unreachable'))
          : Reflect.get(target, name).bind(target),
    });
    const problems: unknown[] = [];
    const sweeper = createSweeper({
      store: { jobs },
      interval: 5,
      onReport: (report) => {
        problems.push(...report.problems);
        if (++sweeps === 3) reached();
        if (sweeps === 2) throw new Error('a listener that fails');
      },
    });
    sweeper.start();
    sweeper.start();
    await three;
    await sweeper.stop();
    const after = sweeps;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(sweeps).toBe(after);
    expect(problems).toEqual([{ taskType: null, error: new Error('unreachable') }]);
  });

  it('ends with its signal', async () => {
    const controller = new AbortController();
    const sweeper = createSweeper({ store, interval: '1h', signal: controller.signal });
    sweeper.start();
    controller.abort();
    await sweeper.stop();
  });

  it.each([
    ['interval', { interval: 0 }],
    ['limit', { limit: 1_001 }],
    ['threshold', { threshold: { 'email-send': '1m' } as never }],
    ['threshold.email-send', { threshold: { default: '1m', 'email-send': 'soon' } }],
  ])('rejects an invalid %s by name', (field, options) => {
    expect(() => createSweeper({ store, ...options })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', field }),
    );
  });
});

describe('inProcessPublisher', () => {
  it('calls the subscribers of a subject with copies until they unsubscribe, even if one of them throws', async () => {
    const signals = inProcessPublisher();
    const got: string[] = [];
    const subject = subjectOf(TYPE, 'queue');
    const leave = signals.subscribe(subject, (signal) => {
      got.push(`first ${signal.taskId}`);
      signal.taskId = 'changed';
      throw new Error('of the first');
    });
    signals.subscribe(subject, ({ taskId }) => got.push(`second ${taskId}`));
    signals.subscribe(subjectOf(TYPE, 'terminal'), () => got.push('not this'));
    const signal = { taskId: 'job' } as JobSignal;
    await expect(signals.publish(subject, signal)).rejects.toThrow('of the first');
    leave();
    await signals.publish(subject, signal);
    expect(got).toEqual(['first job', 'second job', 'second job']);
  });
});
