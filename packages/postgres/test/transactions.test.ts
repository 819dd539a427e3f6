/** The caller's own transactions, and the feed, which waits for them. */
import type { FeedItem, Store } from '@tidemark/core';
import { describe, expect, it } from 'vitest';
import { keysOf, newDatabase, openClient, openStore, readFeed, runEvent, WITHOUT_POSTGRES } from './databases.ts';

const indexKeysOf = (items: readonly FeedItem[]) => items.map(({ event }) => `${event.runId}/${event.runSeq}`);

describe.skipIf(WITHOUT_POSTGRES)('an append that joins the caller’s transaction', () => {
  it('is committed with the caller’s rows', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    const client = await openClient(url);
    await client.query('CREATE TABLE orders (id int)');
    await client.query('BEGIN');
    await client.query('INSERT INTO orders VALUES (1)');
    const [result] = await store.runs.appendEvents([runEvent('r', 'a')], { transaction: client });
    expect(result).toMatchObject({ runSeq: 1, persisted: true });
    expect(await keysOf(store, 'r')).toEqual([]);
    await client.query('COMMIT');
    expect(await keysOf(store, 'r')).toEqual(['a']);
    expect((await client.query('SELECT id FROM orders')).rows).toEqual([{ id: 1 }]);
  });

  it('is rolled back with them, and its sequence is issued again (RUN-2)', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    const client = await openClient(url);
    await client.query('CREATE TABLE orders (id int)');
    await client.query('BEGIN');
    await client.query('INSERT INTO orders VALUES (1)');
    await store.runs.appendEvents([runEvent('r', 'a'), runEvent('r', 'b')], { transaction: client });
    await client.query('ROLLBACK');
    expect((await client.query('SELECT id FROM orders')).rows).toEqual([]);
    expect(await store.runs.appendEvent(runEvent('r', 'c'))).toMatchObject({ runSeq: 1 });
    expect(await keysOf(store, 'r')).toEqual(['c']);
  });

  it('is seen by tails once it is committed, not before', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    const client = await openClient(url);
    await store.runs.appendEvent(runEvent('r', 'before'));
    const seen: string[] = [];
    const stop = new AbortController();
    const following = (async () => {
      for await (const { idempotencyKey } of store.runs.tail('r', { signal: stop.signal })) {
        seen.push(idempotencyKey);
        if (seen.length === 2) break;
      }
    })();
    await client.query('BEGIN');
    await store.runs.appendEvents([runEvent('r', 'joined')], { transaction: client });
    await new Promise((resolve) => setTimeout(resolve, 700));
    expect(seen).toEqual(['before']);
    await client.query('COMMIT');
    await following;
    stop.abort();
    expect(seen).toEqual(['before', 'joined']);
  });
});

describe.skipIf(WITHOUT_POSTGRES)('the feed', () => {
  it('never passes an open transaction, and then returns every event once', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    const client = await openClient(url);
    await store.runs.appendEvents([runEvent('first'), runEvent('first')]);
    const before = await readFeed(store, 2);
    expect(indexKeysOf(before.items)).toEqual(['first/1', 'first/2']);

    await client.query('BEGIN');
    await store.runs.appendEvents([runEvent('held'), runEvent('held')], { transaction: client });
    await store.runs.appendEvents([runEvent('elsewhere'), runEvent('elsewhere')]);
    const during = await readFeed(store, 0, before.next);
    expect(indexKeysOf(during.items)).toEqual([]);

    await client.query('COMMIT');
    const after = await readFeed(store, 4, during.next);
    expect(indexKeysOf(after.items)).toEqual(['held/1', 'held/2', 'elsewhere/1', 'elsewhere/2']);
    expect((await readFeed(store, 0, after.next)).items).toEqual([]);
  });

  it('continues past a transaction that was rolled back', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    const client = await openClient(url);
    await client.query('BEGIN');
    await store.runs.appendEvents([runEvent('undone')], { transaction: client });
    await store.runs.appendEvent(runEvent('kept'));
    await client.query('ROLLBACK');
    expect(indexKeysOf((await readFeed(store, 1)).items)).toEqual(['kept/1']);
  });

  it('keeps a run in order when an older transaction appends to it after a younger one (RUN-2)', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    const client = await openClient(url);
    await client.query('BEGIN');
    // Assigns the transaction its id, as the caller's own write would.
    await client.query('SELECT pg_current_xact_id()');
    await store.runs.appendEvent(runEvent('r'));
    await store.runs.appendEvents([runEvent('r')], { transaction: client });
    await client.query('COMMIT');
    await store.runs.appendEvent(runEvent('r'));
    expect(indexKeysOf((await readFeed(store, 3)).items)).toEqual(['r/1', 'r/2', 'r/3']);
  });

  it('keeps every run in order under concurrent writers', { timeout: 60_000 }, async () => {
    const url = await newDatabase();
    const stores = await Promise.all(Array.from({ length: 4 }, () => openStore(url)));
    const seen = new Map<string, number>();
    let count = 0;
    const stop = new AbortController();
    const following = (async () => {
      for await (const { event } of stores[0]!.runs.feed({ signal: stop.signal })) {
        expect(event.runSeq, event.runId).toBe((seen.get(event.runId) ?? 0) + 1);
        seen.set(event.runId, event.runSeq);
        if (++count === 2_000) break;
      }
    })();
    const write = async (store: Store, writer: number) => {
      for (let at = 0; at < 50; at++) await store.runs.appendEvent(runEvent(`run-${(writer + at) % 3}`));
    };
    const writing = stores.flatMap((store) => Array.from({ length: 10 }, (_, writer) => write(store, writer)));
    await Promise.all([following, ...writing]);
    stop.abort();
    expect([...seen.values()].reduce((sum, last) => sum + last, 0)).toBe(2_000);
  });
});
