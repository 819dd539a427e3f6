/** Concurrent reads, writes and claims share statements, and each behaves as if it were alone. */
import type { Store } from '@tidemark/core';
import pg from 'pg';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { chainsOf, type LookRow, lookStatement, planGroup, writeStatement } from '../src/record-group.ts';
import { Dialect } from '../src/sql.ts';
import { newDatabase, openClient, openStore, WITHOUT_POSTGRES } from './databases.ts';

const numbers = (count: number) => Array.from({ length: count }, (_, at) => at);

const textOf = async (store: Pick<Store, 'kv'>, key: string, field: string) =>
  (await store.kv.getField(key, field)) && Buffer.from((await store.kv.getField(key, field))!).toString();

/** Counts the statements that this process sends from now on. */
function statements(): { count: () => number } {
  const spy = vi.spyOn(pg.Client.prototype, 'query');
  onTestFinished(() => spy.mockRestore());
  const isHint = (call: unknown[]) => typeof call[0] === 'string' && call[0].includes('pg_notify');
  return { count: () => spy.mock.calls.filter((call) => !isHint(call)).length };
}

describe.skipIf(WITHOUT_POSTGRES)('concurrent writes of records', () => {
  it('share statements, and so do reads', async () => {
    const store = await openStore(await newDatabase());
    await store.kv.put('warm', { a: 1 });
    const sent = statements();
    await Promise.all(numbers(100).map((at) => store.kv.put(`k${at}`, { a: at })));
    // The first write is sent at once, the others wait for it.
    expect(sent.count()).toBeLessThanOrEqual(6);
    const before = sent.count();
    const found = await Promise.all(numbers(100).map((at) => store.kv.get(`k${at}`)));
    expect(sent.count() - before).toBeLessThanOrEqual(3);
    expect(found.map((record) => Buffer.from(record!.fields.a!).toString())).toEqual(numbers(100).map(String));
  });

  it('on one record behave as if they were executed one after the other', async () => {
    const { kv } = await openStore(await newDatabase());
    await kv.put('k', { n: 0 });
    const outcomes = await Promise.all([
      kv.compareAndSwap('k', 'n', 0, 1),
      kv.compareAndSwap('k', 'n', 0, 2),
      kv.setField('k', 'a', 'x'),
      kv.compareAndSwap('k', 'n', 1, 3),
      kv.delete('k'),
      kv.compareAndSwap('k', 'n', 3, 4),
      kv.setField('k', 'b', 'y', { ifExists: true }),
      kv.put('k', { n: 5 }),
      kv.compareAndSwap('k', 'n', 5, null),
      kv.compareAndSwap('k', 'n', null, 6),
    ]);
    const shown = outcomes.map((outcome) => (typeof outcome === 'boolean' ? outcome : outcome.written));
    expect(shown).toEqual([true, false, true, true, true, false, false, true, true, true]);
    const record = await kv.get('k');
    expect(Object.keys(record!.fields)).toEqual(['n']);
    expect(Buffer.from(record!.fields.n!).toString()).toBe('6');
  });

  it('have one winner where all expect the same, and revisions that only increase', async () => {
    const { kv } = await openStore(await newDatabase());
    const claims = await Promise.all(numbers(60).map((at) => kv.compareAndSwap('k', 'owner', null, at)));
    expect(claims.filter(Boolean)).toHaveLength(1);
    const written = await Promise.all(numbers(60).map((at) => kv.setField('k', 'last', at)));
    const revisions = written.map(({ revision }) => revision!);
    expect(revisions).toEqual([...new Set(revisions)].sort((a, b) => a - b));
    expect((await kv.get('k'))!.revision).toBe(revisions.at(-1));
  });

  it('of two processes lose no update', async () => {
    const url = await newDatabase();
    const stores = [await openStore(url), await openStore(url)];
    await stores[0]!.kv.put('counter', { n: 0, other: 0 });
    const add = async ({ kv }: Store) => {
      for (;;) {
        const { fields, revision } = (await kv.get('counter'))!;
        const n = Number(Buffer.from(fields.n!).toString()) + 1;
        if ((await kv.swap('counter', { expectedRevision: revision, set: { n } })).swapped) return;
      }
    };
    await Promise.all(stores.flatMap((store) => numbers(10).map(() => add(store))));
    expect(await textOf(stores[0]!, 'counter', 'n')).toBe('20');
  });

  it('fail alone: one on a damaged record does not affect the others', async () => {
    const url = await newDatabase();
    const { kv } = await openStore(url);
    await Promise.all(['a', 'b', 'c'].map((key) => kv.put(key, { n: 0 })));
    const client = await openClient(url);
    await client.query(`UPDATE tidemark.kv_fields SET value = 'x', sum = sum WHERE key = 'b'`);
    await client.query(`UPDATE tidemark.kv_fields SET sum = 1 WHERE key = 'b'`);
    const settled = await Promise.allSettled(['a', 'b', 'c'].map((key) => kv.setField(key, 'm', 1)));
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(settled[1]).toMatchObject({ reason: { code: 'CORRUPT_VALUE', field: 'b' } });
    const read = await Promise.allSettled(['a', 'b', 'c'].map((key) => kv.get(key)));
    expect(read.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  });

  it('answer a request that is sent twice at once, for each tenant apart', async () => {
    const store = await openStore(await newDatabase());
    const [one, other] = [store.forTenant('one').kv, store.forTenant('other').kv];
    await one.put('k', { n: 0 });
    const taken = await Promise.all([
      one.compareAndSwap('k', 'n', 0, 1, { requestId: 'r' }),
      one.compareAndSwap('k', 'n', 0, 1, { requestId: 'r' }),
      one.compareAndSwap('k', 'n', 0, 1, { requestId: 'another' }),
    ]);
    expect(taken).toEqual([true, true, false]);
    await one.delete('k');
    await one.put('k', { n: 0 });
    await other.put('k', { n: 0 });
    // The id of the first tenant is stored apart now, and has the same hash for the second.
    const later = await Promise.all([one, other].map((kv) => kv.compareAndSwap('k', 'n', 0, 2, { requestId: 'r' })));
    expect(later).toEqual([true, true]);
    expect([await textOf({ kv: one } as Store, 'k', 'n'), await textOf({ kv: other } as Store, 'k', 'n')]).toEqual([
      '0',
      '2',
    ]);
  });

  it('are decided again when another process changes the record first', async () => {
    const url = await newDatabase();
    const { kv } = await openStore(url);
    await kv.put('k', { n: 0 });
    const rival = await openClient(url);
    await rival.query('BEGIN');
    await rival.query(`SELECT FROM tidemark.kv_records WHERE key = 'k' FOR UPDATE`);
    const swapping = kv.compareAndSwap('k', 'n', 0, 1);
    await vi.waitFor(async () => {
      const { rows } = await rival.query(`SELECT 1 FROM pg_locks WHERE NOT granted`);
      expect(rows.length).toBeGreaterThan(0);
    });
    await rival.query(`DELETE FROM tidemark.kv_fields WHERE key = 'k'`);
    await rival.query(`DELETE FROM tidemark.kv_records WHERE key = 'k'`);
    await rival.query('COMMIT');
    expect(await swapping).toBe(false);
    expect(await kv.get('k')).toBeNull();
  });

  it('of a process that stalled after its read write nothing', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    await store.kv.put('k', { n: 0 });
    const client = await openClient(url);
    const dialect = new Dialect('tidemark');
    const name = { space: 'kv', tenantId: 'default', key: 'k' } as const;
    const chains = chainsOf([{ name, mode: 'merge', set: new Map([['n', Buffer.from('1')]]) }]);
    const run = async ({ text, values }: { text: string; values: unknown[] }) =>
      (await client.query({ text: dialect.script(text), values, rowMode: 'array' })).rows;
    const { plans, now } = planGroup(chains, (await run(lookStatement(chains))) as unknown as LookRow[]);
    const rows = new Map([[0, plans[0]!.rows as Exclude<(typeof plans)[0]['rows'], null | 'alone'>]]);
    expect(await run(writeStatement(chains, rows, now - 60_000))).toEqual([]);
    expect(await textOf(store, 'k', 'n')).toBe('0');
    expect(await run(writeStatement(chains, rows, now))).toHaveLength(1);
    expect(await textOf(store, 'k', 'n')).toBe('1');
    // The revision that was read is gone now, so a repetition writes nothing.
    expect(await run(writeStatement(chains, rows, now))).toEqual([]);
  });
});

describe.skipIf(WITHOUT_POSTGRES)('concurrent claims', () => {
  const enqueue = (store: Store, count: number) =>
    Promise.all(numbers(count).map((at) => store.jobs.enqueue({ taskType: 'mail', taskId: `job-${at}` })));

  it('of one process share two statements, and get different jobs', async () => {
    const store = await openStore(await newDatabase());
    await enqueue(store, 60);
    const sent = statements();
    const claims = await Promise.all(
      numbers(60).map((at) => store.jobs.claim({ taskType: 'mail' }, { worker: `w${at}` })),
    );
    expect(sent.count()).toBeLessThanOrEqual(6);
    expect(new Set(claims.map((claim) => claim?.taskId)).size).toBe(60);
    expect(await store.jobs.claim({ taskType: 'mail' }, { worker: 'late' })).toBeNull();
  });

  it('of two processes never get the same job', async () => {
    const url = await newDatabase();
    const stores = [await openStore(url), await openStore(url)];
    await enqueue(stores[0]!, 40);
    const claims = await Promise.all(
      numbers(60).map((at) => stores[at % 2]!.jobs.claim({ taskType: 'mail' }, { worker: `w${at}` })),
    );
    const taken = claims.flatMap((claim) => claim?.taskId ?? []);
    expect(taken).toHaveLength(40);
    expect(new Set(taken).size).toBe(40);
  });

  it('release due jobs first, and pass over damaged ones', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    await store.jobs.enqueue({ taskType: 'mail', taskId: 'damaged', priority: 9 });
    await store.jobs.enqueue({ taskType: 'mail', taskId: 'due', priority: 5, delay: 1 });
    await store.jobs.enqueue({ taskType: 'mail', taskId: 'ready' });
    const client = await openClient(url);
    await client.query(`UPDATE tidemark.kv_records SET sum = 1 WHERE key LIKE '%.damaged'`);
    await new Promise((resolve) => setTimeout(resolve, 20));
    const claim = () => store.jobs.claim({ taskType: 'mail' }, { worker: 'w' });
    expect([(await claim())?.taskId, (await claim())?.taskId, await claim()]).toEqual(['due', 'ready', null]);
  });
});
