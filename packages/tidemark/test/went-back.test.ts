/** A server whose files revert to an older copy: a process that saw the lost events reports them once. */
import type { StoreAlert } from '@tidemark/core';
import { expect, it, onTestFinished } from 'vitest';
import { damagedEngine } from '../../../faults/damage-engines.ts';
import { neededServers } from '../../../scripts/servers/index.ts';

const SERVERS = (['redis', 'nats'] as const).filter((name) => neededServers().includes(name));

it.each(SERVERS)(
  'events that %s lost are reported by the process that wrote them',
  { timeout: 120_000 },
  async (name) => {
    const engine = await damagedEngine(name);
    onTestFinished(() => engine.remove());
    const alerts: StoreAlert[] = [];
    const store = await engine.open({ onAlert: (alert) => void alerts.push(alert) });
    onTestFinished(() => store.close());
    const run = store.runs.handle('r');
    for (let at = 0; at < 3; at++) await run.append('Progress', { at });
    await engine.settle('newest');
    await expect.poll(() => store.ping(), { timeout: 60_000 }).toBe(true);
    for (let at = 3; at < 5; at++) await run.append('Progress', { at });
    await store.runs.refreshSnapshot('r');
    // The mirrors of runs and records must not outlive the loss either.
    await store.kv.put('lost', { v: 1 });
    expect([(await store.runs.listRuns()).items.length, (await store.kv.scanPage('')).items.length]).toEqual([1, 1]);
    await engine.restore();
    await (await engine.reopen()).close();
    await expect.poll(() => store.ping(), { timeout: 60_000 }).toBe(true);
    await run.append('Progress', { at: 'after' });
    const loss = {
      code: 'HEAD_WENT_BACK',
      severity: 'P1',
      tenantId: 'default',
      runId: 'r',
      knownSeq: 5,
      currentSeq: 4,
    };
    await expect.poll(() => alerts, { timeout: 30_000 }).toEqual([loss]);
    expect((await store.runs.refreshSnapshot('r')).snapshot.lastEventSeq).toBe(4);
    expect(await store.runs.verify('r')).toMatchObject({ ok: true, events: 4 });
    const { items } = await store.runs.listRuns();
    expect(items.map(({ runId, lastEventSeq }) => [runId, lastEventSeq])).toEqual([['r', 4]]);
    const stored = (await store.runs.fetchEvents('r')).map(({ payload }) => payload);
    expect(stored).toEqual([{ at: 0 }, { at: 1 }, { at: 2 }, { at: 'after' }]);
    await store.kv.put('kept', { v: 2 });
    expect((await store.kv.scanPage('')).items.map(({ key }) => key)).toEqual(['kept']);
    expect(alerts).toHaveLength(1);
  },
);

it.each(SERVERS)(
  'a process that knows events that %s has lost appends after the events that another process wrote instead',
  { timeout: 120_000 },
  async (name) => {
    const engine = await damagedEngine(name);
    onTestFinished(() => engine.remove());
    const store = await engine.open();
    onTestFinished(() => store.close());
    const run = store.runs.handle('r');
    for (let at = 0; at < 3; at++) await run.append('Progress', { at });
    await engine.settle('newest');
    await expect.poll(() => store.ping(), { timeout: 60_000 }).toBe(true);
    for (let at = 3; at < 5; at++) await run.append('Progress', { at });
    await engine.restore();
    // The other process uses exactly the lost sequences, before this one has noticed anything.
    const other = await engine.reopen();
    for (let at = 3; at < 5; at++) await other.runs.handle('r').append('Progress', { other: at });
    await other.close();
    await expect.poll(() => store.ping(), { timeout: 60_000 }).toBe(true);
    await run.append('Progress', { at: 'after' });
    const stored = (await store.runs.fetchEvents('r')).map(({ payload }) => payload);
    const theirs = [{ other: 3 }, { other: 4 }];
    expect(stored).toEqual([{ at: 0 }, { at: 1 }, { at: 2 }, ...theirs, { at: 'after' }]);
    expect(await store.runs.verify('r')).toMatchObject({ ok: true, events: 6 });
    await using third = await engine.open();
    expect(await third.runs.verify('r')).toMatchObject({ ok: true, events: 6 });
  },
);
