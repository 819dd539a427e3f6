/** Quarantined runs over HTTP: who may list and release them, and what is logged and counted (RUN-20, GEN-10). */
import { httpStore } from '@tidemark/client';
import { memoryStore, type StoreAlert } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type Damage, damagedStore } from '../../../faults/damaged-store.ts';
import { createServer, type LogEntry } from '../src/index.ts';
import { runEvent } from './running.ts';
import { startSecured } from './security-setup.ts';

async function start() {
  const damage: Damage = { run: { tenantId: 'acme', runId: 'sick' }, runSeq: 2 };
  const served: { alert?: (alert: StoreAlert) => void } = {};
  const store = damagedStore(memoryStore({ onAlert: (alert) => served.alert?.(alert) }), damage);
  const lines: LogEntry[] = [];
  const logger = { info: (line: LogEntry) => void lines.push(line), error: (line: LogEntry) => void lines.push(line) };
  const server = createServer({ store, logger, inspector: false });
  served.alert = server.alert;
  const url = await server.listen();
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  for (const n of ['1', '2', '3'])
    await store.runs.appendEvent({ ...runEvent('sick'), tenantId: 'acme', idempotencyKey: n });
  return { store, url, damage, lines, remote: await httpStore({ url }) };
}

describe('a quarantined run', () => {
  it('is skipped, logged, counted, listed and released over HTTP', async () => {
    const { url, damage, lines, remote } = await start();
    const first = await remote.runs.feedPage();
    expect(first.items.map(({ event }) => event.runSeq)).toEqual([1]);
    expect(first.held).toEqual([{ tenantId: 'acme', runId: 'sick', runSeq: 2, index: 1 }]);
    expect(lines).toMatchObject([{ event: 'alert', code: 'RUN_QUARANTINED', runId: 'sick', fromSeq: 2 }]);
    await expect.poll(async () => (await fetch(`${url}/metrics`)).text()).toMatch(/^tidemark_quarantined_runs 1$/m);
    expect(await (await fetch(`${url}/metrics`)).text()).toContain('tidemark_alerts_total{code="RUN_QUARANTINED"} 1');
    expect((await remote.runs.listQuarantined()).items).toMatchObject([{ runId: 'sick', fromSeq: 2, release: 0 }]);
    expect(await remote.forTenant('other').runs.listQuarantined({ state: 'any' })).toEqual({ items: [] });
    await expect(remote.runs.releaseRun('sick')).rejects.toMatchObject({ code: 'CORRUPT_EVENT', runSeq: 2 });
    damage.run = null;
    expect(await remote.runs.releaseRun('sick')).toMatchObject({ state: 'released', release: 2 });
    const again = await remote.runs.feedPage({ cursor: first.next! });
    expect(again.items.map(({ event, released }) => [event.runSeq, released])).toEqual([
      [2, true],
      [3, true],
    ]);
    const stopped = new AbortController();
    const live: [number, boolean | undefined][] = [];
    for await (const item of remote.runs.feed({ cursor: first.next!, signal: stopped.signal })) {
      live.push([item.event.runSeq, item.released]);
      if (live.length === 2) stopped.abort();
    }
    expect(live).toEqual([
      [2, true],
      [3, true],
    ]);
  });
});

describe('with keys', () => {
  it('listing needs runs:read, releasing needs admin, and cursors of a release stay encrypted', async () => {
    const secured = await startSecured();
    await secured.store.runs.appendEvent({ ...runEvent('whole'), tenantId: 'acme' });
    const reader = await secured.keyFor({ tenantId: 'acme', scopes: ['runs:read'] });
    const writer = await secured.keyFor({ tenantId: 'acme', scopes: ['runs:write'] });
    const admin = await secured.keyFor({ tenantId: 'acme', scopes: ['admin'] });
    const release = (headers: Record<string, string>) =>
      fetch(`${secured.url}/v1/runs/whole/release`, { method: 'POST', headers }).then(({ status }) => status);
    expect((await fetch(`${secured.url}/v1/quarantines`, { headers: reader })).status).toBe(200);
    expect((await fetch(`${secured.url}/v1/quarantines`, { headers: writer })).status).toBe(403);
    expect([await release(reader), await release(writer), await release(admin)]).toEqual([403, 403, 404]);
  });
});
