/**
 * A superuser changes one event with the triggers off: its run is quarantined, and everything else continues (RUN-20).
 */
import type { StoreAlert } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { checkDamage, fillRuns } from '../../../faults/damage-check.ts';
import { newDatabase, openClient, openStore, runEvent, WITHOUT_POSTGRES } from './databases.ts';

describe.skipIf(WITHOUT_POSTGRES)('an event changed without the store', () => {
  it.each([
    ['payload', `'{"n":"changed"}'`],
    ['link', `decode(repeat('00', 32), 'hex')`],
    ['emitted_at', `'never'`],
  ])('in its %s affects only its run', async (column, value) => {
    const url = await newDatabase();
    const alerts: StoreAlert[] = [];
    const store = await openStore(url, { onAlert: (alert) => alerts.push(alert) });
    const client = await openClient(url);
    const where = "WHERE run_id = 'sick' AND run_seq = 3";
    const alter = (sql: string) =>
      client.query(
        `ALTER TABLE tidemark.run_events DISABLE TRIGGER USER; ${sql}; ALTER TABLE tidemark.run_events ENABLE TRIGGER USER`,
      );
    await fillRuns(store);
    await alter(`CREATE TEMP TABLE before_damage AS SELECT * FROM tidemark.run_events ${where}`);
    const set = (to: string) => alter(`UPDATE tidemark.run_events SET ${column} = ${to} ${where}`).then(() => {});
    const problems = await checkDamage(store, {
      alerts,
      damage: () => set(value),
      repair: () => set(`(SELECT ${column} FROM before_damage)`),
    });
    expect(problems).toEqual([]);
    expect(alerts).toMatchObject([{ code: 'RUN_QUARANTINED', runId: 'sick', fromSeq: 3 }]);
  });

  it('is reported only to its tenant and to the operator, under row-level security too', async () => {
    const url = await newDatabase();
    const store = await openStore(url, { rowLevelSecurity: true });
    const client = await openClient(url);
    for (const tenantId of ['a', 'b'])
      for (const n of [1, 2]) await store.runs.appendEvent({ ...runEvent('r', `${n}`), tenantId });
    await client.query(
      `ALTER TABLE tidemark.run_events DISABLE TRIGGER USER; UPDATE tidemark.run_events SET emitted_at = 'never' WHERE tenant_id = 'a' AND run_seq = 2`,
    );
    const [a, b] = [store.forTenant('a'), store.forTenant('b')];
    await expect.poll(async () => (await a.runs.feedPage()).held?.length, { timeout: 10_000 }).toBe(1);
    expect((await a.runs.listQuarantined()).items).toMatchObject([{ tenantId: 'a', runId: 'r', fromSeq: 2 }]);
    expect(await b.runs.listQuarantined({ state: 'any' })).toEqual({ items: [] });
    expect((await b.runs.feedPage()).held).toBeUndefined();
    expect((await store.runs.listQuarantined()).items).toHaveLength(1);
  });
});
