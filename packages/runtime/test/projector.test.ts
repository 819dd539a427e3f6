/** The projector on every engine: snapshots follow the log, alerts are raised, and work is shared. */
import type { RunSnapshot, Store } from '@tidemark/core';
import { createProjector, type Projector, type ProjectorAlert, type ProjectorOptions } from '@tidemark/runtime';
import { afterEach, describe, expect, test } from 'vitest';
import { ENGINES } from './engines.ts';
import { recordingMeter } from './recording-meter.ts';

describe.each(Object.entries(ENGINES))('the projector on %s', (_, createDatabase) => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function opened(count: number): Promise<Store[]> {
    const database = await createDatabase();
    closing.push(() => database.remove());
    const stores: Store[] = [];
    for (let at = 0; at < count; at++) {
      const store = await database.open();
      closing.push(() => store.close());
      stores.push(store);
    }
    return stores;
  }

  async function started(options: ProjectorOptions): Promise<Projector> {
    const projector = await createProjector({ lease: '2s', shards: 8, ...options });
    closing.push(() => projector.stop());
    return projector;
  }

  /** Waits for the stored snapshot: getSnapshot alone would fold events if none is stored. */
  async function caughtUp(store: Store, runId: string): Promise<RunSnapshot> {
    const head = await store.runs.headSeq(runId);
    for (const end = Date.now() + 20_000; ; ) {
      const snapshot = await store.runs.getSnapshot(runId);
      if (snapshot?.lastEventSeq === head) return snapshot;
      if (Date.now() > end) throw new Error(`${runId} is at ${snapshot?.lastEventSeq} of ${head}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  test('keeps stored snapshots current', async () => {
    const [store] = await opened(1);
    const run = store!.runs.handle('order');
    await run.append('RunStarted');
    await store!.runs.refreshSnapshot('order');
    await run.append('StepStarted', {}, { stepId: 'charge' });
    expect((await store!.runs.getSnapshot('order'))!.lastEventSeq).toBe(1);
    const projector = await started({ store: store! });
    expect((await caughtUp(store!, 'order')).steps).toMatchObject([{ stepId: 'charge', status: 'RUNNING' }]);
    await run.append('StepCompleted', {}, { stepId: 'charge' });
    await run.append('RunCompleted');
    expect(await caughtUp(store!, 'order')).toMatchObject({ status: 'COMPLETED', freshness: 'FRESH' });
    await expect.poll(() => projector.status().lagMs).toBe(0);
  });

  test('folds every event once, regardless of the number of processes', async () => {
    const [one, two, writer] = await opened(3);
    const projectors = [await started({ store: one! }), await started({ store: two! })];
    const runs = Array.from({ length: 30 }, (_, at) => `run-${at}`);
    await Promise.all(
      runs.map(async (runId) => {
        for (let at = 0; at < 10; at++) await writer!.runs.handle(runId).append('Progress', { at });
      }),
    );
    for (const runId of runs) await caughtUp(writer!, runId);
    // Events that getSnapshot folded itself, before a projector got to them, are not counted.
    const folded = projectors.reduce((sum, projector) => sum + projector.status().folded, 0);
    expect(folded).toBeLessThanOrEqual(300);
  });

  test('raises one alert for an invalid event', async () => {
    const [store] = await opened(1);
    const alerts: ProjectorAlert[] = [];
    await started({ store: store!, onAlert: (alert) => void alerts.push(alert) });
    const run = store!.runs.handle('wrong');
    await run.append('RunCompleted');
    await caughtUp(store!, 'wrong');
    await run.append('Progress');
    expect(await caughtUp(store!, 'wrong')).toMatchObject({ consistency: 'INCONSISTENT' });
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect(alerts.map(({ code }) => code)).toEqual(['INVALID_TRANSITION']);
  });

  test('raises an alert when it lags', async () => {
    const [store] = await opened(1);
    await store!.runs.handle('old').append('RunStarted');
    await new Promise((resolve) => setTimeout(resolve, 30));
    const alerts: ProjectorAlert[] = [];
    await started({ store: store!, lagAlert: 20, onAlert: (alert) => void alerts.push(alert) });
    await caughtUp(store!, 'old');
    await expect.poll(() => alerts[0]?.code).toBe('PROJECTOR_LAG_HIGH');
  });

  test('measures its lag', async () => {
    const [store] = await opened(1);
    await store!.runs.handle('old').append('RunStarted');
    await new Promise((resolve) => setTimeout(resolve, 30));
    const { meter, points } = recordingMeter();
    const projector = await started({ store: store!, name: 'measured', meter });
    const lags = () => points.filter(([name]) => name === 'tidemark.projector.lag');
    await expect.poll(() => lags().length).toBeGreaterThan(0);
    const [name, lagMs, attributes] = lags()[0]!;
    expect([name, attributes]).toEqual(['tidemark.projector.lag', { projector: 'measured' }]);
    expect(lagMs).toBeGreaterThanOrEqual(20);
    await expect.poll(() => projector.status().lagMs).toBe(0);
  });

  test('skips a removed run', async () => {
    const [store] = await opened(1);
    await store!.runs.handle('gone').append('RunStarted');
    await store!.runs.handle('here').append('RunStarted');
    await store!.runs.deleteRun('gone');
    await store!.runs.handle('here').append('RunCompleted');
    const errors: unknown[] = [];
    await started({ store: store!, onError: (error) => void errors.push(error) });
    expect((await caughtUp(store!, 'here')).status).toBe('COMPLETED');
    expect(errors).toEqual([]);
  });
});
