/** Retention: which policy removes which data, what is never removed, and that a plan removes nothing (RUN-15). */
import { memoryStore, type RunEventInput, type Store, TidemarkError } from '@tidemark/core';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { createRetention, type RetentionPolicies, type RunPolicy } from '../src/index.ts';
import { altered } from './altered.ts';

const DAY = 86_400_000;
const START = Date.UTC(2026, 0, 1);

let now: number;
let store: Store;

beforeEach(() => {
  now = START;
  store = memoryStore({ clock: () => now, artifacts: { ttlMs: null } });
});

afterEach(() => store.close());

type Fields = Partial<Pick<RunEventInput, 'tenantId' | 'projectId' | 'environmentId' | 'planId' | 'labels'>>;

async function run(runId: string, types: string[], fields: Fields = {}): Promise<void> {
  const handle = store.runs.handle(runId, fields);
  for (const type of types) await handle.append(type, { text: 'x'.repeat(100) });
}

const ENDED = ['RunStarted', 'RunCompleted'];
const FAILED = ['RunStarted', 'RunFailed'];

const retention = (policies: RetentionPolicies, over: Store = store) =>
  createRetention({ store: over, policies, clock: () => now, share: 1 });

async function left(): Promise<string[]> {
  return (await store.runs.listRuns({ order: 'oldest', limit: 1_000 })).items.map(({ runId }) => runId).sort();
}

describe('runs', () => {
  it('are removed by the first matching policy: failed ones after a year, others after 90 days', async () => {
    await run('ended', ENDED);
    await run('failed', FAILED);
    const policies: RunPolicy[] = [
      { name: 'failed', status: 'FAILED', olderThan: '365d', action: 'delete' },
      { name: 'others', olderThan: '90d', action: 'delete' },
    ];
    now += 90 * DAY;
    await retention({ runs: policies }).run();
    expect(await left(), 'at 90 days nothing is older than 90 days').toEqual(['ended', 'failed']);
    now += 1;
    const report = await retention({ runs: policies }).run();
    expect(await left()).toEqual(['failed']);
    expect(report.policies).toMatchObject({
      failed: { kind: 'runs', found: 0, deleted: 0 },
      others: { kind: 'runs', found: 1, deleted: 1, events: 2 },
    });
    expect(report).toMatchObject({ finished: true, dryRun: false, problems: [] });
    await expect(run('ended', ['Late'])).rejects.toMatchObject({ code: 'RUN_DELETED' });
    now += 275 * DAY;
    await retention({ runs: policies }).run();
    expect(await left()).toEqual([]);
  });

  it('in progress are never removed, however old they are', async () => {
    await run('running', ['RunStarted']);
    await run('paused', ['RunStarted', 'RunPaused']);
    await run('queued', ['RunQueued']);
    await run('unknown', ['Noted']);
    now += 10_000 * DAY;
    await retention({ runs: [{ name: 'all', olderThan: '1d', action: 'delete' }] }).run();
    expect(await left()).toEqual(['paused', 'queued', 'running', 'unknown']);
  });

  it('that were abandoned are removed if a policy names their status, by the age of their last event', async () => {
    await run('silent', ['RunStarted']);
    await run('alive', ['RunStarted']);
    now += 40 * DAY;
    await run('alive', ['Noted']);
    const abandoned: RunPolicy = { name: 'abandoned', status: ['RUNNING'], olderThan: '30d', action: 'delete' };
    await retention({ runs: [abandoned] }).run();
    expect(await left()).toEqual(['alive']);
  });

  it('that received an event after they were found stay', async () => {
    await run('late', ENDED);
    await run('ended', ENDED);
    now += 100 * DAY;
    const listing = altered(store, {
      runs: (runs) => ({
        listRuns: async (options) => {
          const page = await runs.listRuns(options);
          await run('late', ['Noted']);
          return page;
        },
      }),
    });
    const report = await retention({ runs: [{ name: 'old', olderThan: '90d', action: 'delete' }] }, listing).run();
    expect(report.policies.old).toMatchObject({ found: 2, deleted: 1, spared: 1, failed: 0 });
    expect(await left()).toEqual(['late']);
    expect(await store.runs.headSeq('late')).toBe(3);
  });

  it('are kept up to a number, newest first, and younger ones too if an age is given', async () => {
    for (let n = 0; n < 6; n++) {
      await run(`run-${n}`, ENDED);
      now += DAY;
    }
    await retention({ runs: [{ name: 'five', keepNewest: 5, action: 'delete' }] }).run();
    expect(await left()).toEqual(['run-1', 'run-2', 'run-3', 'run-4', 'run-5']);
    await retention({ runs: [{ name: 'two', keepNewest: 2, olderThan: 84 * 3_600_000, action: 'delete' }] }).run();
    expect(await left(), 'run-3 is only 3 days old').toEqual(['run-3', 'run-4', 'run-5']);
  });

  it('are selected by tenant, project, environment, plan and labels', async () => {
    const chosen = { tenantId: 'acme', projectId: 'p1', environmentId: 'prod', planId: 'plan', labels: { kind: 'ci' } };
    await run('chosen', ENDED, chosen);
    for (const [name, value] of Object.entries({ projectId: 'p2', environmentId: 'dev', planId: 'other' }))
      await run(`other-${name}`, ENDED, { ...chosen, [name]: value });
    await run('other-tenant', ENDED, { ...chosen, tenantId: 'umbrella' });
    await run('other-labels', ENDED, { ...chosen, labels: { kind: 'release' } });
    now += 2 * DAY;
    await retention({ runs: [{ name: 'ci', ...chosen, olderThan: '1d', action: 'delete' }] }).run();
    expect(await left()).toEqual([
      'other-environmentId',
      'other-labels',
      'other-planId',
      'other-projectId',
      'other-tenant',
    ]);
  });

  it('with very many events are removed in turns, with a rest between', async () => {
    await run('long', ENDED);
    now += 100 * DAY;
    let turns = 0;
    const slow = altered(store, {
      runs: (runs) => ({
        deleteRun: async (runId, options) => {
          const isThere = await runs.deleteRun(runId, options);
          if (++turns < 3) throw new TidemarkError('OUTCOME_UNKNOWN', 'It took too long');
          return isThere;
        },
      }),
    });
    const report = await retention({ runs: [{ name: 'old', olderThan: '90d', action: 'delete' }] }, slow).run();
    expect(report.policies.old).toMatchObject({ found: 1, deleted: 1, failed: 0 });
    expect(turns).toBe(3);
  });

  it('are kept by an earlier exception, in every status', async () => {
    await run('held', ENDED, { labels: { hold: 'legal' } });
    await run('held-open', ['RunStarted'], { labels: { hold: 'legal' } });
    await run('free', ENDED);
    now += 100 * DAY;
    const report = await retention({
      runs: [
        { name: 'hold', labels: { hold: 'legal' }, action: 'keep' },
        { name: 'abandoned', status: ['RUNNING'], olderThan: '30d', action: 'delete' },
        { name: 'old', olderThan: '90d', action: 'delete' },
      ],
    }).run();
    expect(await left()).toEqual(['held', 'held-open']);
    expect(report.policies.old).toMatchObject({ found: 1, deleted: 1 });
  });

  it("' count their age from the first event if a policy requires it", async () => {
    await run('ended', ENDED);
    now += 20 * DAY;
    await run('ended', ['Noted']);
    now += 20 * DAY;
    await retention({ runs: [{ name: 'a', olderThan: '30d', action: 'delete' }] }).run();
    expect(await left()).toEqual(['ended']);
    await retention({ runs: [{ name: 'b', olderThan: '30d', ageOf: 'first event', action: 'delete' }] }).run();
    expect(await left()).toEqual([]);
  });

  it('are archived by the archiver, each at the sequence at which it was found', async () => {
    await run('ended', ENDED, { tenantId: 'acme' });
    now += 100 * DAY;
    const archived: unknown[] = [];
    const archiver = {
      archiveRun: async (runId: string, options: { tenantId: string; expectedSeq: number }) => {
        archived.push([runId, options]);
      },
    };
    const policies: RetentionPolicies = { runs: [{ name: 'old', olderThan: '90d', action: 'archive' }] };
    const report = await createRetention({ store, policies, archiver, clock: () => now }).run();
    expect(archived).toEqual([['ended', { tenantId: 'acme', expectedSeq: 2 }]]);
    expect(report.policies.old).toMatchObject({ archived: 1, deleted: 0 });
  });
});

describe('a plan', () => {
  it('returns counts and bytes per policy, and removes nothing', async () => {
    for (let n = 0; n < 40; n++) await run(`run-${n}`, ENDED);
    await run('failed', FAILED);
    now += 100 * DAY;
    const progress: number[] = [];
    const report = await retention({
      runs: [
        { name: 'failed', status: 'FAILED', olderThan: '365d', action: 'delete' },
        { name: 'others', olderThan: '90d', action: 'delete' },
      ],
    }).plan({ onProgress: ({ policies }) => progress.push(policies.others!.found) });
    expect(report).toMatchObject({ dryRun: true, finished: true });
    expect(report.policies.others).toMatchObject({ found: 40, events: 80, deleted: 0 });
    expect(report.policies.others!.bytes, '80 events of more than 100 bytes').toBeGreaterThan(8_000);
    expect(report.policies.others!.bytes).toBeLessThan(80_000);
    expect(report.policies.failed).toMatchObject({ found: 0, bytes: 0 });
    expect(progress).toEqual([16, 32, 40]);
    expect((await left()).length).toBe(41);
  });
});

describe('a pass', () => {
  const OLD: RetentionPolicies = { runs: [{ name: 'old', olderThan: '90d', action: 'delete' }] };

  it('stops on its signal, and the next one finishes', async () => {
    for (let n = 0; n < 50; n++) await run(`run-${n}`, ENDED);
    now += 100 * DAY;
    const stopping = new AbortController();
    const report = await retention(OLD).run({ signal: stopping.signal, onProgress: () => stopping.abort() });
    expect(report.finished).toBe(false);
    expect((await left()).length).toBe(34);
    expect((await retention(OLD).run()).policies.old).toMatchObject({ found: 34, deleted: 34 });
    expect(await left()).toEqual([]);
  });

  it('reports errors and continues with the rest', async () => {
    for (const name of ['a', 'b', 'c']) await run(name, ENDED);
    now += 100 * DAY;
    const failing = altered(store, {
      runs: (runs) => ({
        deleteRun: async (runId, options) => {
          if (runId === 'b') throw new Error('disk on fire');
          return runs.deleteRun(runId, options);
        },
      }),
    });
    const report = await retention(OLD, failing).run();
    expect(report.policies.old).toMatchObject({ found: 3, deleted: 2, failed: 1 });
    expect(report.problems).toMatchObject([{ policy: 'old', id: 'b', error: { message: 'disk on fire' } }]);
    expect(await left()).toEqual(['b']);
  });

  it('rests three times as long as it works', async () => {
    for (let n = 0; n < 64; n++) await run(`run-${n}`, ENDED);
    now += 100 * DAY;
    let working = 0;
    const slow = altered(store, {
      runs: (runs) => ({
        deleteRun: async (runId, options) => {
          const began = performance.now();
          await new Promise((resolve) => setTimeout(resolve, 10));
          working += (performance.now() - began) / 4;
          return runs.deleteRun(runId, options);
        },
      }),
    });
    const report = await createRetention({ store: slow, policies: OLD, clock: () => now }).run();
    expect(report.durationMs).toBeGreaterThan(3.5 * working);
  });

  it('repeats until it is stopped', async () => {
    await run('ended', ENDED);
    let passes = 0;
    const loop = createRetention({
      store,
      policies: OLD,
      clock: () => now,
      interval: 5,
      onReport: () => void passes++,
    });
    loop.start();
    await expect.poll(() => passes).toBeGreaterThan(1);
    now += 100 * DAY;
    await expect.poll(left).toEqual([]);
    await loop.stop();
    const seen = passes;
    await new Promise((resolve) => setTimeout(resolve, 30));
    expect(passes).toBe(seen);
  });
});

describe('ambiguous policies are rejected', () => {
  const refused: [string, RetentionPolicies, string][] = [
    ['neither age nor number', { runs: [{ name: 'x', action: 'delete' }] }, 'policies.runs[0]'],
    [
      'live runs by number',
      { runs: [{ name: 'x', status: 'RUNNING', olderThan: '1d', keepNewest: 5, action: 'delete' }] },
      'policies.runs[0]',
    ],
    [
      'live runs by creation',
      { runs: [{ name: 'x', status: ['PAUSED'], olderThan: '1d', ageOf: 'first event', action: 'delete' }] },
      'policies.runs[0]',
    ],
    ['an archive without archiver', { runs: [{ name: 'x', olderThan: '1d', action: 'archive' }] }, 'archiver'],
    [
      'a name twice',
      {
        runs: [{ name: 'x', olderThan: '1d', action: 'delete' }],
        jobs: [{ name: 'x', olderThan: '1d' }],
      },
      'policies.jobs[0].name',
    ],
    [
      'a job that has not ended',
      { jobs: [{ name: 'x', olderThan: '1d', state: 'running' as never }] },
      'policies.jobs[0].state',
    ],
    ['an exception with an age', { runs: [{ name: 'x', olderThan: '1d', action: 'keep' }] }, 'policies.runs[0]'],
    ['no age', { memory: [{ name: 'x' }] }, 'policies.memory[0].olderThan'],
  ];
  it.each(refused)('%s', (_, policies, field) => {
    expect(() => createRetention({ store, policies })).toThrow(
      expect.objectContaining({ code: 'INVALID_ARGUMENT', field }),
    );
  });
});
