/** Removal from the file: expired records automatically, whole runs on request, both in small steps. */
import { DatabaseSync } from 'node:sqlite';
import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newPath, openStore, runEvent } from './fixtures.ts';

/** Counts rows directly in the file. */
function counter(path: string): (table: string) => number {
  const database = new DatabaseSync(path, { readOnly: true });
  onTestFinished(() => database.close());
  return (table) => Number(database.prepare(`SELECT count(*) AS count FROM ${table}`).get()!.count);
}

describe('expired records', () => {
  it('are removed from the file, not only hidden (KV-2)', { timeout: 60_000 }, async () => {
    const path = newPath();
    const store = await openStore(path);
    const count = counter(path);
    for (let n = 0; n < 250; n++) void store.kv.put(`short-${n}`, { a: '1', b: '2' }, { ttl: 200 });
    await store.kv.put('long', { a: '1' }, { ttl: '1h' });
    await store.kv.put('ever', { a: '1' });
    expect([count('kv_records'), count('kv_fields')]).toEqual([252, 502]);
    const limit = Date.now() + 30_000;
    while (count('kv_records') > 2 && Date.now() < limit) await sleep(100);
    expect([count('kv_records'), count('kv_fields')]).toEqual([2, 2]);
    expect(await store.kv.get('long')).not.toBeNull();
  });
});

describe('deleteRun', () => {
  it('removes 5 000 events in steps between which other writers write (RUN-15)', { timeout: 60_000 }, async () => {
    const path = newPath();
    const store = await openStore(path);
    for (let batch = 0; batch < 5; batch++) {
      await store.runs.appendEvents(
        Array.from({ length: 1_000 }, (_, index) => runEvent('doomed', `${batch}.${index}`)),
      );
    }
    const count = counter(path);
    const rest: number[] = [];
    let done = false;
    const other = (async () => {
      for (let n = 0; !done; n++) {
        await store.runs.appendEvent(runEvent('other', `k${n}`));
        rest.push(count('run_events') - n - 1);
      }
    })();
    expect(await store.runs.deleteRun('doomed')).toBe(true);
    done = true;
    await other;
    expect(
      rest.some((left) => left > 0 && left < 5_000),
      `appends between the steps, at ${rest.join(', ')}`,
    ).toBe(true);
    expect(count('run_events')).toBe(rest.length);
    expect(await store.runs.verify('other')).toMatchObject({ ok: true, events: rest.length });
    expect(await store.runs.fetchEvents('doomed')).toEqual([]);
    await expect(store.runs.appendEvent(runEvent('doomed'))).rejects.toMatchObject({ code: 'RUN_DELETED' });
  });
});

describe('restoreRun', () => {
  it('removes the events that an interrupted deletion left before it restores the run', async () => {
    const path = newPath();
    const first = await openStore(path);
    await first.runs.appendEvents(['1', '2', '3'].map((n) => runEvent('r', n)));
    const parts = await Array.fromAsync(first.runs.exportRun('r'));
    const database = new DatabaseSync(path);
    onTestFinished(() => database.close());
    database.prepare('UPDATE runs SET removed = ?').run(JSON.stringify({ kind: 'deleted', at: 1 }));
    const { runs } = await openStore(path);
    expect(await runs.fetchEvents('r')).toEqual([]);
    expect(await runs.restoreRun(parts, { overDeleted: true })).toMatchObject({ restored: true, lastEventSeq: 3 });
    expect(await runs.verify('r')).toMatchObject({ ok: true, events: 3 });
  });
});
