/** Times in SQL to the millisecond: the last moment at which a state is valid, and the first at which it is not. */
import type { KvChange } from '@tidemark/core';
import { REQUEST_KEPT_MS } from '@tidemark/core/engine';
import { sqlRecords } from '@tidemark/sql';
import { beforeEach, describe, expect, it } from 'vitest';
import { sqlPauses } from '../src/agents/pauses.ts';
import { sqlReferences } from '../src/artifacts/references.ts';
import { eachTest, type TestStore } from './database.ts';

const CALL = {};
const TENANT = 'default';
const ID = 'pause';
const START = 1_800_000_000_000;

let store: TestStore;
let setTime: (ms: number) => void;

eachTest((file, opened) => {
  store = opened;
  setTime = (ms) => {
    file.clock = () => START + ms;
  };
  setTime(0);
});

describe('a pause', () => {
  let pauses: ReturnType<typeof sqlPauses>;
  const about = { pauseId: ID, sessionId: null, taskId: null, reason: null };
  const save = (ttlMs: number) => pauses.save(TENANT, { ...about, payload: '{}', ttlMs }, CALL);
  const claim = (claimId: string, leaseMs: number) => pauses.claim(TENANT, ID, { claimId, leaseMs }, CALL);
  const consume = (claimId: string) => pauses.consume(TENANT, ID, claimId, CALL);
  const settle = (as: 'consumed' | 'waiting') => pauses.settle(TENANT, ID, 'mine', as, CALL);
  const bury = (ttlMs = 1_000) => pauses.bury(TENANT, { ...about, ttlMs }, CALL);
  const peek = () => pauses.peek(TENANT, ID, CALL);
  const payload = () => pauses.payload(TENANT, ID, CALL);

  const row = () => ({ ...store.database.handle.prepare('SELECT payload, claim_id FROM planner_pauses').get() });

  beforeEach(async () => {
    pauses = sqlPauses(store.database);
    await save(100);
  });

  it('can be seen and used until the millisecond of its expiry', async () => {
    const list = () => pauses.list(TENANT, { after: null, limit: 10, sessionId: null }, CALL);
    setTime(99);
    expect([await peek(), await list(), await payload()]).toMatchObject([
      { state: 'waiting' },
      [{ pauseId: ID }],
      '{}',
    ]);
    setTime(100);
    expect([await peek(), await list(), await payload()]).toEqual([null, [], null]);
    expect([await claim('mine', 10), await consume('mine')]).toEqual([null, null]);
    setTime(99);
    expect(await claim('mine', 10)).toEqual({ payload: '{}', leaseUntil: START + 100 });
  });

  it('belongs to its claim until the millisecond in which the lease ends', async () => {
    await claim('mine', 50);
    setTime(49);
    expect([(await peek())?.state, await payload()]).toEqual(['claimed', null]);
    expect([await claim('theirs', 10), await consume('theirs'), await bury()]).toEqual([null, null, false]);
    expect((await claim('mine', 60))?.leaseUntil, 'a retried claim keeps its lease').toBe(START + 50);
    setTime(50);
    expect([(await peek())?.state, await payload()]).toEqual(['waiting', '{}']);
    expect((await claim('mine', 20))?.leaseUntil, 'an ended lease starts over').toBe(START + 70);
    setTime(70);
    expect((await claim('theirs', 20))?.leaseUntil).toBe(START + 90);
    setTime(90);
    expect(await consume('mine')).toBe('{}');
  });

  it.each(['consumed', 'waiting'] as const)('is settled as %s before its expiry only', async (as) => {
    await claim('mine', 50);
    setTime(100);
    expect(await settle(as)).toBe(false);
    setTime(99);
    expect(await settle(as)).toBe(true);
  });

  it('starts over when it is saved at its expiry', async () => {
    await claim('mine', 100);
    setTime(99);
    expect(await save(1)).toBe('saved');
    expect(await peek()).toMatchObject({ state: 'claimed', createdAt: new Date(START).toISOString() });
    setTime(100);
    expect(await save(50)).toBe('saved');
    expect(await peek()).toMatchObject({ state: 'waiting', createdAt: new Date(START + 100).toISOString() });
    expect([await settle('consumed'), await settle('waiting')], 'the old claim is gone').toEqual([false, false]);
    await consume('mine');
    setTime(149);
    expect(await save(50)).toBe('consumed');
    setTime(150);
    expect(await save(50)).toBe('saved');
  });

  it('loses its payload and its claim if an operator consumes it after its lease', async () => {
    await claim('mine', 50);
    setTime(50);
    expect(await bury()).toBe(true);
    expect(row()).toEqual({ payload: null, claim_id: null });
  });

  it('is consumed by an operator after its expiry even if its lease is longer', async () => {
    await claim('mine', 100);
    await save(10);
    setTime(9);
    expect(await bury()).toBe(false);
    setTime(10);
    expect(await bury()).toBe(true);
  });

  it('keeps its payload for a retry when an operator consumes it too, until its expiry', async () => {
    await consume('mine');
    setTime(99);
    await bury(1_000);
    expect([await consume('mine'), (await peek())?.expiresAt]).toEqual(['{}', new Date(START + 100).toISOString()]);
    setTime(100);
    await bury(1_000);
    expect(row()).toEqual({ payload: null, claim_id: null });
    expect([await consume('mine'), (await peek())?.expiresAt]).toEqual([null, new Date(START + 1_100).toISOString()]);
  });

  it('is removed at its expiry or, if it was consumed, only once the request is forgotten', async () => {
    setTime(99);
    expect(await pauses.removeExpired(10, CALL)).toBe(0);
    setTime(100);
    expect(await pauses.removeExpired(10, CALL)).toBe(1);
    await save(100);
    await consume('mine');
    setTime(100 + REQUEST_KEPT_MS - 1);
    expect(await pauses.removeExpired(10, CALL)).toBe(0);
    expect(await consume('mine')).toBe('{}');
    setTime(100 + REQUEST_KEPT_MS);
    expect(await pauses.removeExpired(10, CALL)).toBe(1);
  });
});

it('removes no more expired pauses than requested', async () => {
  const pauses = sqlPauses(store.database);
  const about = { sessionId: null, taskId: null, reason: null, payload: '{}', ttlMs: 100 };
  for (const pauseId of ['a', 'b', 'c']) await pauses.save(TENANT, { ...about, pauseId }, CALL);
  setTime(100);
  expect([await pauses.removeExpired(2, CALL), await pauses.removeExpired(2, CALL)]).toEqual([2, 1]);
});

describe('a record', () => {
  const clean = () => sqlRecords(store.database, { wait: async () => {} }).removeExpired(10, CALL);

  it('is readable and changeable until the millisecond of its expiry', async () => {
    await store.kv.put('k', { a: 1 }, { ttl: 100 });
    setTime(99);
    expect((await store.kv.get('k'))?.ttl).toBe(1);
    expect([await clean(), await store.kv.compareAndSwap('k', 'a', 1, 2)]).toEqual([0, true]);
    setTime(100);
    expect([await store.kv.get('k'), await store.kv.compareAndSwap('k', 'a', 2, 3)]).toEqual([null, false]);
    await store.kv.setField('k', 'b', 1);
    expect(Object.keys((await store.kv.get('k'))!.fields)).toEqual(['b']);
    await store.kv.put('l', { a: 1 }, { ttl: 100 });
    setTime(200);
    expect(await clean()).toBe(1);
  });

  it('is reported as expired at the millisecond of its expiry', async () => {
    const seen: KvChange[] = [];
    const controller = new AbortController();
    const watching = (async () => {
      for await (const change of store.kv.watch('', { signal: controller.signal })) seen.push(change);
    })();
    await store.kv.put('k', { a: 1 }, { ttl: 100 });
    await expect.poll(() => seen.map(({ type }) => type)).toEqual(['put']);
    setTime(100);
    await expect.poll(() => seen.map(({ type }) => type)).toEqual(['put', 'expire']);
    controller.abort();
    await watching.catch(() => {});
  });

  it('forgets a request in the millisecond in which its time ends', async () => {
    const put = async (n: number) => (await store.kv.put('k', { n }, { requestId: 'r' })).revision;
    await put(1);
    await store.kv.delete('k');
    setTime(REQUEST_KEPT_MS - 1);
    await clean();
    expect(await put(2)).toBeNull();
    setTime(REQUEST_KEPT_MS);
    await clean();
    expect(await put(2)).not.toBeNull();
  });
});

describe('a reference of an artifact', () => {
  it('is removed at the millisecond of its expiry', async () => {
    const { id } = await store.artifacts.putText('text', { ttl: 100 });
    const references = sqlReferences(store.database);
    expect(await references.removeExpired(null, START + 99, CALL)).toBe(0);
    expect(await references.removeExpired('another', START + 100, CALL)).toBe(0);
    expect(await references.removeExpired(TENANT, START + 100, CALL)).toBe(1);
    expect(await store.artifacts.get(id)).toBeNull();
  });

  it('keeps its bytes for exactly the grace period after it is gone', async () => {
    const { id } = await store.artifacts.putText('text');
    await store.artifacts.delete(id);
    const blobs = () => Number(store.database.handle.prepare('SELECT count(*) AS n FROM artifact_blobs').get()!.n);
    setTime(100);
    await store.artifacts.sweep({ grace: 100 });
    expect(blobs()).toBe(1);
    setTime(101);
    await store.artifacts.sweep({ grace: 100 });
    expect(blobs()).toBe(0);
  });
});
