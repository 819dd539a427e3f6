/** Claims in one script: what the kit cannot see, such as round trips, checksums and lost replies. */
import { Socket } from 'node:net';
import { createClient } from '@redis/client';
import { type ClaimedJob, isTidemarkError, replay, type Store } from '@tidemark/core';
import { engineOf } from '@tidemark/core/engine';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { FaultProxy } from '../../../faults/proxy.ts';
import { Connection } from '../src/connection.ts';
import { Layout } from '../src/layout.ts';
import type { Encoded } from '../src/protocol/encode.ts';
import { DEFAULT_BUCKETS } from '../src/store-format.ts';
import { makeFormatOne } from './kit-parts.ts';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

const TYPE = 'mail';
const keyOf = (taskId: string) => `gbe.state.tasks.${TYPE}.${taskId}`;

async function connected() {
  const client = createClient({ url: sharedServer() });
  await client.connect();
  onTestFinished(() => client.destroy());
  return client;
}

function textOf(command: Encoded): string {
  let text = '';
  command.write((piece) => {
    text += piece.toString();
  });
  return text;
}

describe.skipIf(WITHOUT_REDIS)('a claim on a single server', () => {
  it('takes one round trip, and completing the job another', async () => {
    const store = await openStore(sharedServer());
    for (const taskId of ['a', 'b', 'c']) await store.jobs.enqueue({ taskType: TYPE, taskId });
    const warm = await store.jobs.claim({ taskType: TYPE }, { worker: 'w' });
    await store.jobs.complete(warm!);
    const asks = vi.spyOn(Connection.prototype, 'ask');
    onTestFinished(() => asks.mockRestore());
    const scripts = () => asks.mock.calls.filter(([command]) => textOf(command).includes('EVALSHA'));
    const claim = await store.jobs.claim({ taskType: TYPE }, { worker: 'w' });
    expect(scripts()).toHaveLength(1);
    await store.jobs.complete(claim!);
    expect(scripts()).toHaveLength(2);
    // Hints are published at the same time.
    expect(asks.mock.calls.filter(([command]) => !textOf(command).includes('PUBLISH'))).toHaveLength(2);
  });

  it('is sent in one write with the end of the job before', async () => {
    const store = await openStore(sharedServer());
    for (let n = 0; n < 40; n++) await store.jobs.enqueue({ taskType: TYPE, taskId: `job-${n}` });
    const claim = () => store.jobs.claim({ taskType: TYPE }, { worker: 'w' });
    let held = await Promise.all(Array.from({ length: 8 }, claim));
    const writes = vi.spyOn(Socket.prototype, 'write');
    onTestFinished(() => writes.mockRestore());
    const taken: (ClaimedJob | null)[] = [];
    for (let round = 0; round < 3; round++) {
      const ended = held.map((job) => store.jobs.complete(job!));
      held = await Promise.all(held.map(claim));
      await Promise.all(ended);
      taken.push(...held);
    }
    expect(new Set(taken.map((job) => job?.taskId)).size).toBe(24);
    const scripts = writes.mock.calls.filter(([piece]) => String(piece).includes('EVALSHA'));
    expect(scripts).toHaveLength(3);
  });

  it('claims for all callers that wait, in order of priority and age', async () => {
    const store = await openStore(sharedServer());
    for (let n = 0; n < 30; n++) await store.jobs.enqueue({ taskType: TYPE, taskId: `job-${n}`, priority: n % 3 });
    const claims = await Promise.all(
      Array.from({ length: 40 }, (_, n) => store.jobs.claim({ taskType: TYPE }, { worker: `w${n}` })),
    );
    const got = claims.filter((claim) => claim !== null);
    expect(new Set(got.map(({ taskId }) => taskId)).size).toBe(30);
    const order = got.map(({ job }) => job);
    const sorted = order.toSorted((a, b) => b.priority - a.priority || a.createdAt - b.createdAt);
    expect(order.map(({ priority }) => priority)).toEqual(sorted.map(({ priority }) => priority));
    expect(order.map(({ createdAt }) => createdAt)).toEqual(sorted.map(({ createdAt }) => createdAt));
  });

  it.each(['job.with:colons%and.dots', 'naïve', '任务-😀', ' '])('claims the job %o', async (taskId) => {
    const store = await openStore(sharedServer());
    await store.jobs.enqueue({ taskType: TYPE, taskId });
    const claim = await store.jobs.claim({ taskType: TYPE }, { worker: 'Zoë' });
    expect(claim).toMatchObject({ taskId, job: { worker: 'Zoë', state: 'claimed' } });
    const [record] = await store.kv.getMany([keyOf(taskId)]);
    expect(Buffer.from(record!.fields.worker!).toString()).toBe('Zoë');
    expect(await store.jobs.complete(claim!)).toMatchObject({ state: 'completed' });
  });

  it('writes checksums that later reads verify', async () => {
    const prefix = newPrefix();
    const store = await openStore(sharedServer(), { prefix });
    await store.jobs.enqueue({ taskType: TYPE, taskId: 'a' });
    const claim = await store.jobs.claim({ taskType: TYPE }, { worker: 'w' });
    const layout = new Layout(prefix, DEFAULT_BUCKETS);
    const name = { space: 'kv', tenantId: 'default', key: keyOf('a') } as const;
    const client = await connected();
    const stored = await client.hGetAll(layout.record(name));
    for (const field of ['state', 'worker', 'claim_id']) expect(stored[`\0${field}`], field).toMatch(/^[0-9a-z]{1,7}$/);
    expect(stored.claim_id).toBe(claim!.claimId);
    await client.hSet(layout.record(name), 'claim_id', 'changed');
    await expect(store.kv.get(keyOf('a'))).rejects.toMatchObject({ code: 'CORRUPT_VALUE' });
  });

  it('leaves a damaged job in the queue and takes the next one', async () => {
    const prefix = newPrefix();
    const store = await openStore(sharedServer(), { prefix });
    await store.jobs.enqueue({ taskType: TYPE, taskId: 'first', priority: 9, fields: { to: 'ada' } });
    await store.jobs.enqueue({ taskType: TYPE, taskId: 'second' });
    const layout = new Layout(prefix, DEFAULT_BUCKETS);
    const name = { space: 'kv', tenantId: 'default', key: keyOf('first') } as const;
    await (await connected()).hSet(layout.record(name), 'to', 'eve');
    const claim = await store.jobs.claim({ taskType: TYPE }, { worker: 'w' });
    expect(claim?.taskId).toBe('second');
    const found = await engineOf(store)!.kv!.scanIndex('default', { from: 'ready/', to: 'ready0', limit: 9 }, {});
    expect(found).toMatchObject([{ key: keyOf('first'), damaged: true }]);
  });

  it('skips records that have expired', async () => {
    const store = await openStore(sharedServer());
    for (let n = 0; n < 5; n++) {
      const job = { state: 'pending', task_type: TYPE, task_id: `gone-${n}`, created_at: n + 1 };
      await store.kv.put(keyOf(`gone-${n}`), job, { ttl: 1 });
    }
    await store.jobs.enqueue({ taskType: TYPE, taskId: 'live' });
    await new Promise((resolve) => setTimeout(resolve, 10));
    expect((await store.jobs.claim({ taskType: TYPE }, { worker: 'w' }))?.taskId).toBe('live');
    expect(await store.jobs.claim({ taskType: TYPE }, { worker: 'w' })).toBeNull();
  });

  it('never claims one job twice when several stores compete', async () => {
    const prefix = newPrefix();
    const stores = await Promise.all([1, 2, 3].map(() => openStore(sharedServer(), { prefix })));
    await Promise.all(
      Array.from({ length: 90 }, (_, n) => stores[n % 3]!.jobs.enqueue({ taskType: TYPE, taskId: `job-${n}` })),
    );
    const taken = await Promise.all(
      stores.flatMap((store, at) =>
        Array.from({ length: 8 }, async () => {
          const own: string[] = [];
          for (;;) {
            const claim = await store.jobs.claim({ taskType: TYPE }, { worker: `w${at}` });
            if (!claim) return own;
            own.push(claim.taskId);
          }
        }),
      ),
    );
    expect(taken.flat().toSorted()).toEqual(Array.from({ length: 90 }, (_, n) => `job-${n}`).toSorted());
  });

  it('keeps checksums out of a store of the first format', async () => {
    const prefix = newPrefix();
    await makeFormatOne(sharedServer(), prefix);
    const store = await openStore(sharedServer(), { prefix });
    await store.jobs.enqueue({ taskType: TYPE, taskId: 'naïve' });
    const claim = await store.jobs.claim({ taskType: TYPE }, { worker: 'w' });
    const layout = new Layout(prefix, DEFAULT_BUCKETS);
    const name = { space: 'kv', tenantId: 'default', key: keyOf('naïve') } as const;
    const stored = await (await connected()).hGetAll(layout.record(name));
    expect(Object.keys(stored).filter((field) => field.length > 1 && field.startsWith('\0'))).toEqual([]);
    expect(claim).toMatchObject({ job: { worker: 'w', state: 'claimed' } });
  });
});

describe.skipIf(WITHOUT_REDIS)('a claim that remembers the first jobs of each bucket', () => {
  async function twoStores(buckets?: number) {
    const options = { prefix: newPrefix(), ...(buckets === undefined ? {} : { buckets }) };
    return [await openStore(sharedServer(), options), await openStore(sharedServer(), options)] as const;
  }
  const claimOf = async (store: Store) => (await store.jobs.claim({ taskType: TYPE }, { worker: 'w' }))?.taskId;

  it.each([1, 16])('finds jobs that another process enqueued before all others (%i buckets)', async (buckets) => {
    const [store, other] = await twoStores(buckets);
    for (let n = 0; n < 60; n++) await store.jobs.enqueue({ taskType: TYPE, taskId: `old-${n}`, priority: -1 });
    for (let n = 0; n < 20; n++) {
      const taskId = `new-${n}`;
      expect(await claimOf(store)).toMatch(/^old-/);
      await other.jobs.enqueue({ taskType: TYPE, taskId, priority: n % 2 });
      expect(await claimOf(store)).toBe(taskId);
    }
  });

  it('finds jobs that this process enqueued, and skips those that another process claimed or cancelled', async () => {
    const [store, other] = await twoStores();
    for (let n = 0; n < 30; n++) {
      await store.jobs.enqueue({ taskType: TYPE, taskId: `first-${n}`, priority: 9 });
      await store.jobs.enqueue({ taskType: TYPE, taskId: `second-${n}`, priority: 8 });
      await store.jobs.enqueue({ taskType: TYPE, taskId: `third-${n}`, priority: 7 });
      await other.jobs.cancel({ taskType: TYPE, taskId: `first-${n}` });
      await other.jobs.claim({ taskType: TYPE, taskId: `second-${n}` }, { worker: 'other' });
      expect(await claimOf(store)).toBe(`third-${n}`);
      expect(await claimOf(store)).toBeUndefined();
    }
  });

  it('finds delayed jobs from the moment they are due', async () => {
    const [store, other] = await twoStores();
    // More than can be claimed before the delayed one is due.
    const refill = (name: string) =>
      Promise.all(
        Array.from({ length: 500 }, (_, at) => store.jobs.enqueue({ taskType: TYPE, taskId: `plain-${name}-${at}` })),
      );
    await refill('first');
    for (let n = 0; n < 5; n++) {
      expect(await claimOf(store)).toMatch(/^plain-/);
      const taskId = `due-${n}`;
      const { job } = await other.jobs.enqueue({ taskType: TYPE, taskId, delay: 30, priority: 5 });
      let claimed: ClaimedJob | null;
      do claimed = await store.jobs.claim({ taskType: TYPE }, { worker: 'w' });
      while (claimed?.job.updatedAt !== undefined && claimed.job.updatedAt < job.runAt! && claimed.taskId !== taskId);
      // The first claim at or after that time gets it, unless it came first because nothing else was ready.
      expect(claimed?.taskId).toBe(taskId);
      expect(claimed!.job.updatedAt).toBeGreaterThanOrEqual(job.runAt!);
      await refill(String(n));
    }
  });

  it('stays true while this process changes other records', async () => {
    const [store, other] = await twoStores(1);
    // Jobs of the same millisecond are claimed by id.
    for (let n = 0; n < 40; n++) await store.jobs.enqueue({ taskType: TYPE, taskId: `old-${n}`, priority: -n });
    for (let n = 0; n < 15; n++) {
      const claim = await store.jobs.claim({ taskType: TYPE }, { worker: 'w' });
      await Promise.all([store.kv.setField('beside', 'n', n), store.jobs.complete(claim!)]);
      expect(claim!.taskId).toBe(`old-${n}`);
    }
    await other.kv.setField('beside', 'n', 1);
    await other.jobs.enqueue({ taskType: TYPE, taskId: 'urgent', priority: 1 });
    await store.kv.setField('beside', 'n', 2);
    expect(await claimOf(store)).toBe('urgent');
  });

  it('reads all again after a while, since a failover may repeat revisions', async () => {
    const prefix = newPrefix();
    const store = await openStore(sharedServer(), { prefix, buckets: 1 });
    const other = await openStore(sharedServer(), { prefix });
    await store.jobs.enqueue({ taskType: TYPE, taskId: 'lost' });
    await store.jobs.enqueue({ taskType: TYPE, taskId: 'kept' });
    expect(await claimOf(store)).toBe('lost');
    const client = await connected();
    const counter = `${prefix}:{b00}:revision`;
    const revision = await client.get(counter);
    await other.jobs.enqueue({ taskType: TYPE, taskId: 'urgent', priority: 1 });
    await client.set(counter, revision!);
    await new Promise((resolve) => setTimeout(resolve, 250));
    expect(await claimOf(store)).toBe('urgent');
  });
});

describe.skipIf(WITHOUT_REDIS)('a claim on a single server whose reply is lost (GEN-8)', () => {
  async function loseReply() {
    const proxy = await FaultProxy.before(sharedServer());
    onTestFinished(() => proxy.close());
    const prefix = newPrefix();
    const direct = await openStore(sharedServer(), { prefix });
    const store = await openStore(`redis://127.0.0.1:${proxy.port}`, { prefix });
    for (const taskId of ['a', 'b']) await direct.jobs.enqueue({ taskType: TYPE, taskId });
    proxy.cutReplyTo('lost-worker');
    const error: unknown = await store.jobs.claim({ taskType: TYPE }, { worker: 'lost-worker' }).catch((it) => it);
    if (!isTidemarkError(error, 'OUTCOME_UNKNOWN')) throw error;
    return { direct, write: error.write! };
  }

  it('is settled by a retry, which finds the job that was claimed', async () => {
    const { direct, write } = await loseReply();
    const [held] = (await direct.jobs.list('claimed')).items;
    for (const _ of [1, 2]) expect(await replay(direct, write)).toMatchObject({ taskId: held!.taskId });
    expect((await direct.jobs.list('claimed')).items).toHaveLength(1);
  });

  it('is not performed after its retry', async () => {
    const prefix = newPrefix();
    const store = await openStore(sharedServer(), { prefix });
    for (const taskId of ['a', 'b']) await store.jobs.enqueue({ taskType: TYPE, taskId });
    // Holds the first command back, as a network may, until the retry has been answered.
    const { ask } = Connection.prototype;
    let release = () => {};
    const held = new Promise<void>((resolve) => {
      release = resolve;
    });
    const asks = vi.spyOn(Connection.prototype, 'ask').mockImplementationOnce(function (this: Connection, ...args) {
      void held.then(() => ask.apply(this, args));
    });
    onTestFinished(() => asks.mockRestore());
    const slow = store.jobs.claim({ taskType: TYPE }, { worker: 'w', timeoutMs: 50 });
    const error: unknown = await slow.catch((it) => it);
    if (!isTidemarkError(error, 'OUTCOME_UNKNOWN')) throw error;
    const claim = await replay(store, error.write!);
    release();
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect((await store.jobs.list('claimed')).items.map(({ taskId }) => taskId)).toEqual([
      (claim as { taskId: string }).taskId,
    ]);
  });
});
