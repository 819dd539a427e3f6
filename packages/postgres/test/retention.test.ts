/** Retention: events cannot be changed, and removed runs and expired records really leave the tables. */
import { isTidemarkError } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { keysOf, newDatabase, openClient, openStore, runEvent, WITHOUT_POSTGRES } from './databases.ts';

const EVENTS = 20_000;

describe.skipIf(WITHOUT_POSTGRES)('stored events', () => {
  it.each([
    ['changed', "UPDATE tidemark.run_events SET event_type = 'Forged'"],
    ['removed', 'DELETE FROM tidemark.run_events WHERE run_seq = 2'],
  ])('cannot be %s with plain SQL, not even by the owner (RUN-15)', async (_, sql) => {
    const url = await newDatabase();
    const store = await openStore(url);
    await store.runs.appendEvents([runEvent('r', 'a'), runEvent('r', 'b')]);
    const client = await openClient(url);
    await expect(client.query(sql)).rejects.toThrow('append-only');
    expect(await keysOf(store, 'r')).toEqual(['a', 'b']);
  });

  it('cannot be truncated (RUN-15)', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    await store.runs.appendEvents([runEvent('r', 'a'), runEvent('r', 'b')]);
    const client = await openClient(url);
    await expect(client.query('TRUNCATE tidemark.run_events')).rejects.toThrow('append-only');
    expect(await keysOf(store, 'r')).toEqual(['a', 'b']);
  });

  it('of a removed run are removed in steps, while appends to other runs continue without waiting (RUN-15)', {
    timeout: 90_000,
  }, async () => {
    const url = await newDatabase();
    const store = await openStore(url, { timeoutMs: 30_000 });
    for (let at = 0; at < EVENTS / 1_000; at++) {
      await store.runs.appendEvents(Array.from({ length: 1_000 }, () => runEvent('old')));
    }
    let removing = true;
    const removal = store.runs.deleteRun('old').finally(() => {
      removing = false;
    });
    let appended = 0;
    while (removing) {
      await store.runs.appendEvent(runEvent('young'));
      appended++;
    }
    expect(await removal).toBe(true);
    expect(appended, 'one at a time, while the other run was leaving').toBeGreaterThan(5);
    expect((await keysOf(store, 'young')).length).toBe(appended);
    const client = await openClient(url);
    const { rows } = await client.query("SELECT count(*)::int AS left FROM tidemark.run_events WHERE run_id = 'old'");
    expect(rows).toEqual([{ left: 0 }]);
    const late: unknown = await store.runs.appendEvent(runEvent('old')).catch((error: unknown) => error);
    expect(isTidemarkError(late, 'RUN_DELETED')).toBe(true);
  });
});

describe.skipIf(WITHOUT_POSTGRES)('expired records and pauses', () => {
  it('are removed from the tables soon after they expire', { timeout: 60_000 }, async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    for (let at = 0; at < 20; at++) await store.kv.put(`k${at}`, { field: 'v' }, { ttl: 100 });
    await store.kv.put('kept', { field: 'v' });
    await store.agents.savePlannerState('token', { step: 1 }, { ttl: 100 });
    const client = await openClient(url);
    const left = async () => {
      const { rows } = await client.query(`
        SELECT (SELECT count(*)::int FROM tidemark.kv_records) AS records,
          (SELECT count(*)::int FROM tidemark.kv_fields) AS fields,
          (SELECT count(*)::int FROM tidemark.planner_pauses) AS pauses`);
      return rows[0];
    };
    expect(await left()).toEqual({ records: 21, fields: 21, pauses: 1 });
    await expect.poll(left, { timeout: 20_000, interval: 250 }).toEqual({ records: 1, fields: 1, pauses: 0 });
  });
});
