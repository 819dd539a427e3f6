/** The projector's guarantees under injected faults: growing lag, holes, damage, lost events (RUN-14). */
import { memoryStore, type RefreshedSnapshot, type RunStore, type Store, TidemarkError } from '@tidemark/core';
import { createProjector, type Projector, type ProjectorAlert, type ProjectorOptions } from '@tidemark/runtime';
import { afterEach, describe, expect, test } from 'vitest';
import { altered } from './altered.ts';
import { recordingMeter } from './recording-meter.ts';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

async function started(
  change: (runs: RunStore) => Partial<RunStore>,
  options: Partial<ProjectorOptions> = {},
): Promise<{ store: Store; projector: Projector; alerts: ProjectorAlert[]; codes: () => string[] }> {
  const store = memoryStore();
  const alerts: ProjectorAlert[] = [];
  const projector = await createProjector({
    store: altered(store, { runs: change }),
    shards: 4,
    onAlert: (alert) => void alerts.push(alert),
    ...options,
  });
  closing.push(
    () => store.close(),
    () => projector.stop(),
  );
  return { store, projector, alerts, codes: () => alerts.map(({ code }) => code) };
}

const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

describe('the lag', () => {
  test('is measured while a fold hangs, alerts once, and falls to 0 when the projector has caught up', async () => {
    const gate = Promise.withResolvers<void>();
    const { store, projector, codes } = await started(
      (runs) => ({
        async refreshSnapshot(runId, options) {
          await gate.promise;
          return runs.refreshSnapshot(runId, options);
        },
      }),
      { lagAlert: 300 },
    );
    await store.runs.handle('r').append('RunStarted');
    const appended = Date.now();
    await expect.poll(codes, { timeout: 3_000 }).toEqual(['PROJECTOR_LAG_HIGH']);
    expect(Date.now() - appended).toBeLessThan(300 + 1_000);
    const before = projector.status().lagMs!;
    await sleep(100);
    expect(projector.status().lagMs).toBeGreaterThan(before + 50);
    gate.resolve();
    await expect.poll(() => projector.status().lagMs, { timeout: 3_000 }).toBe(0);
    expect(codes()).toEqual(['PROJECTOR_LAG_HIGH']);
  });

  test('is measured while the feed hangs', async () => {
    const gate = Promise.withResolvers<void>();
    let isStuck = false;
    const { store, projector, codes } = await started(
      (runs) => ({
        async feedPage(options) {
          if (isStuck) await gate.promise;
          return runs.feedPage(options);
        },
      }),
      { lagAlert: '4s' },
    );
    await store.runs.handle('r').append('RunStarted');
    await expect.poll(() => projector.status().lagMs, { timeout: 3_000 }).toBe(0);
    isStuck = true;
    await sleep(3_000);
    expect(codes()).toEqual([]);
    await expect.poll(codes, { timeout: 4_000 }).toEqual(['PROJECTOR_LAG_HIGH']);
    gate.resolve();
    await expect.poll(() => projector.status().lagMs, { timeout: 3_000 }).toBe(0);
  }, 15_000);

  test('above the limit marks the waiting runs stale and folds them without the hanging worker', async () => {
    const marked: string[] = [];
    const gate = Promise.withResolvers<void>();
    const hanging = { name: 'hanging', refresh: () => gate.promise };
    const { store, projector } = await started(
      (runs) => ({
        async markStale(runId, options) {
          marked.push(runId);
          return runs.markStale(runId, options);
        },
      }),
      { lagAlert: 100, resyncAfter: 300, projections: [hanging] },
    );
    const run = store.runs.handle('r');
    await run.append('RunStarted');
    await expect.poll(() => projector.status().resyncs, { timeout: 3_000 }).toBe(1);
    expect(marked).toEqual(['r']);
    await sleep(600);
    expect(projector.status().resyncs).toBe(1);
    expect(await store.runs.getSnapshot('r')).toMatchObject({ freshness: 'FRESH', lastEventSeq: 1 });
    gate.resolve();
    await expect.poll(() => projector.status().lagMs, { timeout: 3_000 }).toBe(0);
  });
});

describe('the projector', () => {
  test('counts a hole once, resyncs the run and leaves it fresh', async () => {
    let drops = false;
    const { meter, points } = recordingMeter();
    const { store, projector, alerts } = await started(
      (runs) => ({
        async feedPage(options) {
          const page = await runs.feedPage(options);
          return { ...page, items: page.items.filter(({ event }) => !drops || event.runSeq !== 2) };
        },
      }),
      { meter },
    );
    const run = store.runs.handle('r');
    await run.append('RunStarted');
    await expect.poll(() => projector.status().folded).toBe(1);
    drops = true;
    const { runSeq: _, persistedAt: __, ...event } = (await store.runs.fetchEvents('r'))[0]!;
    await store.runs.appendEvents(
      [2, 3].map((at) => ({ ...event, eventId: crypto.randomUUID(), eventType: 'Progress', idempotencyKey: `k${at}` })),
    );
    await expect.poll(() => projector.status()).toMatchObject({ holes: 1, resyncs: 1, folded: 3 });
    expect(alerts).toEqual([{ code: 'RUN_STALE', severity: 'P3', tenantId: 'default', runId: 'r', missingSeq: 2 }]);
    expect((await store.runs.getSnapshot('r'))?.freshness).toBe('FRESH');
    expect(points.filter(([name]) => name === 'tidemark.projector.holes')).toEqual([
      ['tidemark.projector.holes', 1, { projector: 'snapshots' }],
    ]);
  });

  test('reports a damaged run once and continues with the others', async () => {
    let isDamaged = true;
    const { store, projector, alerts } = await started((runs) => ({
      async refreshSnapshot(runId, options) {
        if (isDamaged && runId === 'bad')
          throw new TidemarkError('CORRUPT_EVENT', 'Event 1 is corrupt', { runId, runSeq: 1 });
        return runs.refreshSnapshot(runId, options);
      },
    }));
    for (let at = 1; at <= 3; at++) {
      for (const runId of ['bad', 'good']) await store.runs.handle(runId).append('Progress', { at });
      await expect.poll(() => projector.status().folded).toBe(at);
    }
    expect(alerts).toMatchObject([{ code: 'RUN_DAMAGED', severity: 'P2', runId: 'bad', runSeq: 1 }]);
    expect(projector.status()).toMatchObject({ damagedRuns: 1 });
    await expect.poll(() => projector.status().lagMs).toBe(0);
    isDamaged = false;
    await store.runs.handle('bad').append('Progress', { at: 4 });
    await expect.poll(() => projector.status().damagedRuns).toBe(0);
  });

  test('counts invalid events that a snapshot does not list', async () => {
    const { store, projector, alerts } = await started(() => ({}));
    const run = store.runs.handle('r');
    await run.append('RunStarted');
    for (let at = 0; at < 130; at++) await run.append('RunResumed');
    await expect.poll(() => projector.status().invalidEvents, { timeout: 5_000 }).toBe(130);
    expect(alerts.filter(({ code }) => code === 'INVALID_TRANSITION')).toHaveLength(100);
    const unlisted = alerts.flatMap((alert) => (alert.code === 'INVALID_TRANSITIONS_UNLISTED' ? [alert] : []));
    expect(unlisted.reduce((sum, { count }) => sum + count, 0)).toBe(30);
    expect(unlisted.at(-1)).toMatchObject({ invalidEvents: 130 });
  });

  test('reports a run whose head went back, unless a rewrite explains it', async () => {
    let change: (refreshed: RefreshedSnapshot) => RefreshedSnapshot = (refreshed) => refreshed;
    const { store, projector, alerts } = await started((runs) => ({
      refreshSnapshot: async (runId, options) => change(await runs.refreshSnapshot(runId, options)),
    }));
    const setBack = (rewrites: number) => (refreshed: RefreshedSnapshot) => {
      change = (it) => it;
      return { ...refreshed, rewrites, snapshot: { ...refreshed.snapshot, lastEventSeq: 1 } };
    };
    for (const [runId, rewrites] of [
      ['rewritten', 1],
      ['lost', 0],
    ] as const) {
      const run = store.runs.handle(runId);
      const { folded } = projector.status();
      await run.append('Progress');
      await run.append('Progress');
      await expect.poll(() => projector.status().folded).toBe(folded + 2);
      change = setBack(rewrites);
      await run.append('Progress');
      await expect.poll(async () => (await store.runs.getSnapshot(runId))?.lastEventSeq).toBe(3);
    }
    await expect
      .poll(() => alerts.filter(({ code }) => code === 'HEAD_WENT_BACK'))
      .toMatchObject([{ runId: 'lost', knownSeq: 2, currentSeq: 1 }]);
  });
});
