/** The demo store: reproducible, intact, with data of every kind, and updated live. */

import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { RunSummary, Store } from '@tidemark/core';
import { memoryStore } from '@tidemark/core';
import { open } from 'tidemark';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { allRuns } from '../src/all-runs.ts';
import { DemoClock } from '../src/demo/clock.ts';
import { fillDemo } from '../src/demo/fill.ts';
import { keepMoving } from '../src/demo/live.ts';
import { orderRun } from '../src/demo/orders.ts';
import { Random } from '../src/demo/random.ts';
import { researchRun } from '../src/demo/research.ts';

const NOW = Date.parse('2026-11-01T12:00:00Z');
let directory: string;
let store: Store;
let runs: RunSummary[];
beforeAll(async () => {
  directory = mkdtempSync(join(tmpdir(), 'tidemark-demo-'));
  const url = `sqlite:${directory}/demo.db`;
  await fillDemo(url, { now: NOW });
  store = await open(url, { clock: () => NOW });
  runs = await Array.fromAsync(allRuns(store.runs));
}, 120_000);
afterAll(async () => {
  await store.close();
  rmSync(directory, { recursive: true });
});

describe('the demo', () => {
  it('has a few hundred runs of several tenants, plans and states over a week', () => {
    expect(runs.length).toBeGreaterThan(300);
    const values = (field: 'tenantId' | 'planId' | 'projectId' | 'status') => new Set(runs.map((run) => run[field]));
    expect([...values('status')].sort()).toEqual(['CANCELLED', 'COMPLETED', 'FAILED', 'PAUSED', 'RUNNING']);
    expect(values('tenantId').size).toBeGreaterThanOrEqual(4);
    expect(values('planId').size).toBeGreaterThanOrEqual(5);
    expect(runs.at(-1)!.createdAt < '2026-10-26').toBe(true);
    expect(runs.every(({ updatedAt }) => Date.parse(updatedAt) <= NOW)).toBe(true);
  });

  it('has the ids that the documentation uses', async () => {
    expect(runs.map(({ runId }) => runId)).toEqual(expect.arrayContaining(['order-42', 'order-7']));
    expect(await store.jobs.get({ taskType: 'email-send', taskId: 'mail-1' })).toMatchObject({ taskId: 'mail-1' });
    expect(await store.agents.getTrajectory('trace-7', 'session-1')).not.toBeNull();
  });

  it('has one run of 20 000 events, all of it intact', async () => {
    const large = runs.find(({ runId }) => runId === 'backfill-2019')!;
    expect(large.lastEventSeq).toBe(20_002);
    expect(await store.runs.verify(large.runId)).toMatchObject({ ok: true, events: 20_002 });
  });

  it('stores each event soon after it was emitted, in order', async () => {
    for (const runId of ['order-1012', 'research-010', 'load-005', 'backfill-2019']) {
      let before = '';
      for await (const { emittedAt, persistedAt } of store.runs.readEvents(runId)) {
        const late = Date.parse(persistedAt) - Date.parse(emittedAt);
        expect(late, `${runId} ${emittedAt}`).toBeGreaterThanOrEqual(0);
        expect(late, `${runId} ${emittedAt}`).toBeLessThan(5_000);
        expect(emittedAt >= before, `${runId} ${emittedAt}`).toBe(true);
        before = emittedAt;
      }
    }
  });

  it('has retries, stuck runs, and one inconsistent run', async () => {
    const attempts = await Promise.all(
      runs
        .filter(({ planId }) => planId === 'checkout')
        .map(({ runId, tenantId }) => store.runs.projectSnapshot(runId, { tenantId })),
    );
    expect(attempts.some(({ steps }) => steps.some(({ logicalAttemptId }) => logicalAttemptId > 1))).toBe(true);
    expect(attempts.filter(({ consistency }) => consistency === 'INCONSISTENT').map(({ runId }) => runId)).toEqual([
      'order-1666',
    ]);
    const quiet = await store.runs.listRuns({
      status: 'RUNNING',
      updatedBefore: new Date(NOW - 4 * 3_600_000).toISOString(),
    });
    expect(quiet.items.length).toBeGreaterThanOrEqual(3);
  });

  it('has sessions with every kind of agent data', async () => {
    const [first] = (await store.agents.listSessions()).items;
    const { sessionId } = first!;
    const [trace] = await store.agents.listTraces(sessionId);
    const parts = await Promise.all([
      ...[store.agents.listTasks(sessionId), store.agents.listUpdates(sessionId), store.agents.listSteering(sessionId)],
      ...[
        store.agents.loadHistory(trace!),
        store.agents.listPlannerEvents(trace!),
        store.agents.listRemoteBindings(trace!),
      ],
    ]);
    for (const part of parts) expect(part.length).toBeGreaterThan(0);
    expect((await store.agents.listMemory()).items.some(({ version }) => version > 1)).toBe(true);
    expect((await store.artifacts.list()).items.length).toBeGreaterThan(5);
    const pauses = (await store.agents.listPauses()).items;
    expect(pauses.filter(({ expiresAt }) => Date.parse(expiresAt) < NOW + 10 * 60_000).length).toBeGreaterThanOrEqual(
      2,
    );
  });

  it('has jobs in every state, including stuck ones', async () => {
    for (const state of ['pending', 'delayed', 'claimed', 'running', 'completed', 'failed'] as const)
      expect((await store.jobs.list(state)).items.length, state).toBeGreaterThan(0);
    const types = await store.jobs.types('running');
    const overdue = await Promise.all(types.map((type) => store.jobs.overdue(type, { threshold: '5m' })));
    expect(overdue.flat().filter(({ reason }) => reason === 'lease ended').length).toBeGreaterThanOrEqual(1);
  });

  it('is the same for the same seed and differs for another', () => {
    const batches = (seed: number) =>
      JSON.stringify([
        orderRun(new Random(seed), 1, NOW, 'completed').batches,
        researchRun(new Random(seed), 1, NOW, 'completed').batches,
      ]);
    expect(batches(7)).toBe(batches(7));
    expect(batches(7)).not.toBe(batches(8));
  });

  it('rejects a store that holds runs', async () => {
    await expect(fillDemo(`sqlite:${directory}/demo.db`)).rejects.toMatchObject({ code: 'CONFLICT' });
  });

  it('writes nothing later than its current time', async () => {
    const clock = new DemoClock(NOW);
    expect(await clock.at(NOW + 5_000, async () => clock.read())).toBe(NOW);
    expect(clock.text(NOW + 5_000)).toBe(new Date(NOW).toISOString());
  });
});

describe('a live demo', () => {
  it('adds orders, jobs and updates until it is aborted', async () => {
    const moved = memoryStore();
    const stopped = new AbortController();
    const moving = keepMoving(moved, stopped.signal, 1);
    while ((await moved.runs.listRuns({ status: 'COMPLETED' })).items.length < 2)
      await new Promise((done) => setTimeout(done, 5));
    stopped.abort();
    expect(await moving).toBeGreaterThan(20);
    const [ended] = (await moved.runs.listRuns({ status: 'COMPLETED' })).items;
    expect(await moved.runs.projectSnapshot(ended!.runId, { tenantId: 'acme' })).toMatchObject({
      consistency: 'CONSISTENT',
    });
    expect((await moved.jobs.list('completed')).items.length).toBeGreaterThan(0);
    expect((await moved.agents.listUpdates('session-01')).length).toBeGreaterThan(0);
  });

  it('ends when the store is closed', async () => {
    const closed = memoryStore();
    const moving = keepMoving(closed, new AbortController().signal, 1);
    await new Promise((done) => setTimeout(done, 20));
    await closed.close();
    await moving;
  });
});
