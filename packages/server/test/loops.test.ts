/**
 * The loops of a server: they keep snapshots, log alerts, report their status, and share the work with other servers.
 */
import { memoryStore } from '@tidemark/core';
import { createServer, type LogEntry } from '@tidemark/server';
import { afterEach, expect, test } from 'vitest';

const closing: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

function makeStore() {
  const store = memoryStore();
  closing.push(() => store.close());
  return store;
}

async function serve(store: ReturnType<typeof makeStore>, loops: boolean) {
  const lines: LogEntry[] = [];
  const log = (entry: LogEntry) => void lines.push(entry);
  const server = createServer({ store, loops, logger: { info: log, error: log }, inspector: false });
  closing.push(() => server.close());
  const url = await server.listen();
  const ask = async (path: string) => (await fetch(`${url}${path}`)).text();
  const status = async () => JSON.parse(await ask('/v1/loops'));
  return { lines, ask, status };
}

test('a server with loops keeps snapshots, logs each alert as one line and reports its status', async () => {
  const store = makeStore();
  const { lines, ask, status } = await serve(store, true);
  await expect.poll(async () => (await status()).running).toBe(true);
  const run = store.forTenant('acme').runs.handle('order');
  await run.append('RunStarted');
  await run.append('RunResumed');
  await expect.poll(async () => (await status()).projector).toMatchObject({ folded: 2, lagMs: 0, invalidEvents: 1 });
  const violation = { runSeq: 2, eventType: 'RunResumed' };
  expect(lines).toMatchObject([{ event: 'alert', code: 'INVALID_TRANSITION', tenantId: 'acme', violation }]);
  await expect.poll(async () => (await status()).sweeps.rounds).toBeGreaterThan(0);
  const metrics = await ask('/metrics');
  for (const line of [
    'tidemark_projector_lag_seconds 0',
    'tidemark_projector_folded_total 2',
    'tidemark_projector_holes_total 0',
    'tidemark_projector_invalid_events_total 1',
    'tidemark_projector_damaged_runs 0',
    'tidemark_swept_jobs_total{outcome="requeued"} 0',
    'tidemark_dead_letters 0',
    'tidemark_alerts_total{code="INVALID_TRANSITION"} 1',
  ])
    expect(metrics).toContain(`\n${line}\n`);
});

test('sweeps reach the jobs of every tenant', async () => {
  const store = makeStore();
  const { jobs } = store.forTenant('acme');
  await jobs.enqueue({ taskType: 'mail', taskId: '1' });
  await jobs.claim({ taskType: 'mail' }, { worker: 'gone', lease: 1 });
  await new Promise((resolve) => setTimeout(resolve, 5));
  const { status } = await serve(store, true);
  await expect.poll(async () => (await status()).sweeps?.jobs.requeued, { timeout: 5_000 }).toBe(1);
});

test('a server without loops runs none', async () => {
  const { ask, status } = await serve(makeStore(), false);
  expect(await status()).toEqual({ running: false });
  expect(await ask('/metrics')).not.toContain('tidemark_projector');
});

test('two servers of one store share the work', async () => {
  const store = makeStore();
  const servers = [await serve(store, true), await serve(store, true)];
  const shards = async () =>
    Promise.all(servers.map(async ({ status }) => (await status()).projector?.shards.length ?? 0));
  await expect.poll(shards, { timeout: 15_000 }).toEqual([8, 8]);
}, 20_000);
