/**
 * Stored snapshots that were tampered with, on every engine: readers never get them, and verify reports and replaces
 * them (RUN-14).
 */
import type { RunSnapshot, Store } from '@tidemark/core';
import { engineOf } from '@tidemark/core/engine';
import { afterEach, describe, expect, test } from 'vitest';
import { ENGINES } from './engines.ts';

const TENANT = 'default';

/** Changes the text of the stored snapshot in database, as a user with access to the tables could. */
async function change(store: Store, runId: string, edit: (body: string) => string): Promise<void> {
  const engine = engineOf(store)!.runs!;
  const [run, call] = [
    { tenantId: TENANT, runId },
    { deadline: Date.now() + 5_000, tenantId: null },
  ];
  const stored = (await engine.loadSnapshot(run, call))!;
  await engine.saveSnapshot(run, { ...stored, status: 'FAILED', body: edit(stored.body) }, call);
}

const fail = (body: string) => body.replace('"status":"RUNNING"', '"status":"FAILED"');
/** As version 0.1 stored it: only the snapshot. */
const unbind = (body: string) => {
  const { integrity: _, ...snapshot } = JSON.parse(body);
  return JSON.stringify(snapshot);
};

describe.each(Object.entries(ENGINES))('a changed snapshot on %s', (_, createDatabase) => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function opened(): Promise<Store> {
    const database = await createDatabase();
    closing.push(() => database.remove());
    const store = await database.open();
    closing.push(() => store.close());
    return store;
  }

  async function running(store: Store, runId: string): Promise<RunSnapshot> {
    await store.runs.handle(runId).append('RunStarted');
    await store.runs.handle(runId).append('StepStarted', {}, { stepId: 'charge' });
    return (await store.runs.refreshSnapshot(runId)).snapshot;
  }

  test('is replaced by every read', async () => {
    const store = await opened();
    const { runs } = store;
    const reads: Record<string, (runId: string) => Promise<RunSnapshot | null>> = {
      get: (runId) => runs.getSnapshot(runId),
      project: (runId) => runs.projectSnapshot(runId),
      at: (runId) => runs.projectSnapshot(runId, { atSeq: 2 }),
      refresh: async (runId) => (await runs.refreshSnapshot(runId)).snapshot,
    };
    for (const [runId, read] of Object.entries(reads)) {
      await running(store, runId);
      for (const edit of [fail, unbind, (body: string) => unbind(fail(body)), () => '{"status":"FAILED"}']) {
        await change(store, runId, edit);
        expect(await read(runId)).toMatchObject({ status: 'RUNNING', lastEventSeq: 2 });
        await expect.poll(() => runs.refreshSnapshot(runId).then(({ folded }) => folded)).toBe(0);
      }
    }
  });

  test('is reported and replaced by verify', async () => {
    const store = await opened();
    await running(store, 'r');
    expect(await store.runs.verify('r')).toMatchObject({ ok: true, snapshot: { runSeq: 2, ok: true } });
    await change(store, 'r', fail);
    expect(await store.runs.verify('r')).toMatchObject({
      ok: false,
      events: 2,
      snapshot: { runSeq: 2, ok: false, problem: 'its checksum does not match', resynced: true },
    });
    expect(await store.runs.verify('r')).toMatchObject({ ok: true, snapshot: { ok: true } });
    expect((await store.runs.refreshSnapshot('r')).folded).toBe(0);
  });

  test('is replaced even if it claims a later sequence than the run has', async () => {
    const store = await opened();
    const { runs } = store;
    await running(store, 'r');
    const engine = engineOf(store)!.runs!;
    const [run, call] = [
      { tenantId: TENANT, runId: 'r' },
      { deadline: Date.now() + 5_000, tenantId: null },
    ];
    const stored = (await engine.loadSnapshot(run, call))!;
    await engine.saveSnapshot(run, { ...stored, status: 'FAILED', lastEventSeq: 99, body: fail(stored.body) }, call);
    expect((await runs.refreshSnapshot('r')).snapshot).toMatchObject({ status: 'RUNNING', lastEventSeq: 2 });
    expect(await runs.getSnapshot('r')).toMatchObject({ status: 'RUNNING', lastEventSeq: 2 });
    expect((await runs.refreshSnapshot('r')).folded).toBe(0);
  });

  test('can be folded from the start on request', async () => {
    const store = await opened();
    await running(store, 'r');
    expect(await store.runs.refreshSnapshot('r', { full: true })).toMatchObject({ folded: 2 });
    expect((await store.runs.refreshSnapshot('r')).folded).toBe(0);
  });
});
