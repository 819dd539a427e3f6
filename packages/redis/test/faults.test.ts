/** The errors that callers get when the server or the connection fails, and that they are true (GEN-3, GEN-8). */
import { createClient } from '@redis/client';
import { isTidemarkError, type Store } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FaultProxy } from '../../../faults/proxy.ts';
import { runEvent } from '../../../faults/run-event.ts';
import { startOwnServer } from '../../../scripts/servers/index.ts';
import type { RunningServer } from '../../../scripts/servers/start.ts';
import { redisStore } from '../src/index.ts';
import { Layout } from '../src/layout.ts';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

/** Returns the code of a call's error and how long it took. Fails the test if the call succeeds. */
async function failureOf(call: Promise<unknown>): Promise<{ code: string; outcome: string; ms: number }> {
  const began = performance.now();
  const error: unknown = await call.then(
    () => expect.fail('The call succeeded'),
    (reason: unknown) => reason,
  );
  if (!isTidemarkError(error)) throw error;
  return { code: error.code, outcome: error.outcome, ms: performance.now() - began };
}

async function proxyTo(url: string): Promise<{ proxy: FaultProxy; url: string }> {
  const proxy = await FaultProxy.before(url);
  onTestFinished(() => proxy.close());
  return { proxy, url: `redis://127.0.0.1:${proxy.port}` };
}

async function ownServer(): Promise<RunningServer> {
  const server = await startOwnServer('redis');
  onTestFinished(() => server.stop());
  return server;
}

/** Opens a plain client that is closed when the test ends. */
async function openClient(url: string) {
  const client = createClient({ url });
  client.on('error', () => {});
  await client.connect();
  onTestFinished(() => client.destroy());
  return client;
}

/** Retries a call until it succeeds, as a caller may. */
async function untilDone<T>(call: () => Promise<T>, limitMs = 10_000): Promise<T> {
  const limit = performance.now() + limitMs;
  for (;;) {
    try {
      return await call();
    } catch (error) {
      if (!isTidemarkError(error) || !error.retryable || performance.now() > limit) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

async function keysOf(store: Store, runId: string): Promise<string[]> {
  return (await store.runs.fetchEvents(runId)).map(({ idempotencyKey }) => idempotencyKey);
}

describe.skipIf(WITHOUT_REDIS)('a reply that is lost (F8)', () => {
  it('fails an append with OUTCOME_UNKNOWN, and a retry with the same key settles it', async () => {
    const { proxy, url } = await proxyTo(sharedServer());
    const prefix = newPrefix();
    const store = await openStore(url, { prefix });
    await store.runs.appendEvent(runEvent('r', 'first'));
    const event = runEvent('r', 'lost-reply-key');
    proxy.cutReplyTo('lost-reply-key');
    expect(await failureOf(store.runs.appendEvent(event))).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(proxy.cuts).toBe(1);
    const direct = await openStore(sharedServer(), { prefix });
    expect(await keysOf(direct, 'r')).toEqual(['first', 'lost-reply-key']);
    const again = await untilDone(() => store.runs.appendEvent(event));
    expect(again).toMatchObject({ runSeq: 2, idempotent: true, eventId: event.eventId });
    expect(await keysOf(direct, 'r')).toEqual(['first', 'lost-reply-key']);
  });

  it('fails a swap with OUTCOME_UNKNOWN, and a retry with the same request id returns the win', async () => {
    const { proxy, url } = await proxyTo(sharedServer());
    const store = await openStore(url);
    await store.kv.put('k', { state: 'pending' });
    const swap = () => store.kv.compareAndSwap('k', 'state', 'pending', 'claimed', { requestId: 'lost-swap' });
    proxy.cutReplyTo('lost-swap');
    expect(await failureOf(swap())).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(await untilDone(swap)).toBe(true);
    expect(await store.kv.compareAndSwap('k', 'state', 'pending', 'claimed', { requestId: 'another' })).toBe(false);
  });
});

describe.skipIf(WITHOUT_REDIS)('a connection that goes silent (F9)', () => {
  it('ends calls at their time limit, writes as unknown, and is replaced once the network works again', async () => {
    const { proxy, url } = await proxyTo(sharedServer());
    const store = await openStore(url, { timeoutMs: 500, connectionTimeoutMs: 500 });
    await store.kv.put('k', { v: 1 });
    proxy.goSilent();
    const [write, read] = await Promise.all([failureOf(store.kv.put('k', { v: 2 })), failureOf(store.kv.get('k'))]);
    expect([write.code, read.code]).toEqual(['OUTCOME_UNKNOWN', 'TIMEOUT']);
    expect(Math.max(write.ms, read.ms), 'not their usual five seconds').toBeLessThan(4_500);
    // Replies are overdue, so the connection is dropped, and its replacements too, as long as nothing passes.
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    expect(await failureOf(store.kv.put('k', { v: 3 }))).toMatchObject({
      code: expect.stringMatching(/UNAVAILABLE|OUTCOME/),
    });
    proxy.heal();
    await untilDone(() => store.kv.put('k', { v: 4 }));
  });
});

describe.skipIf(WITHOUT_REDIS)('a server that cannot be reached', () => {
  it('fails with UNAVAILABLE at once when a store is opened', async () => {
    const server = await ownServer();
    await server.stop();
    expect(await failureOf(redisStore(server.url))).toMatchObject({ code: 'UNAVAILABLE', outcome: 'rejected' });
  });

  it('rejects a wrong password with the server’s message', async () => {
    const { host } = new URL(sharedServer());
    await expect(redisStore(`redis://somebody:wrong@${host}`)).rejects.toMatchObject({
      code: 'STORAGE_ERROR',
      message: expect.stringContaining('WRONGPASS'),
    });
  });

  it('fails with UNAVAILABLE, nothing written, until it is back; the same store then works again', async () => {
    const server = await ownServer();
    const store = await openStore(server.url);
    await store.runs.appendEvent(runEvent('r', 'before'));
    await server.kill!();
    await expect
      .poll(() => failureOf(store.kv.put('k', { v: 1 })))
      .toMatchObject({ code: 'UNAVAILABLE', outcome: 'rejected' });
    expect(await store.ping()).toBe(false);
    await server.revive!();
    await expect.poll(() => store.ping(), { timeout: 10_000 }).toBe(true);
    await store.runs.appendEvent(runEvent('r', 'after'));
    expect(await keysOf(store, 'r')).toEqual(['before', 'after']);
    expect(await store.kv.get('k')).toBeNull();
  });

  it('may have forgotten the scripts', async () => {
    const server = await ownServer();
    const store = await openStore(server.url);
    await store.kv.put('k', { v: 1 });
    const client = await openClient(server.url);
    await client.scriptFlush();
    await store.kv.put('k', { v: 2 });
    expect((await store.kv.get('k'))?.revision).toBe(2);
  });
});

describe.skipIf(WITHOUT_REDIS)('a server that rejects', () => {
  it('fails with STORAGE_FULL when its memory is full, and reads continue', async () => {
    const server = await ownServer();
    const store = await openStore(server.url);
    await store.kv.put('k', { v: 1 });
    const client = await openClient(server.url);
    await client.configSet('maxmemory', '1mb');
    expect(await failureOf(store.kv.put('k', { v: 2 }))).toMatchObject({ code: 'STORAGE_FULL', outcome: 'rejected' });
    expect(await failureOf(store.runs.appendEvent(runEvent('r')))).toMatchObject({ code: 'STORAGE_FULL' });
    expect((await store.kv.get('k'))?.revision).toBe(1);
    await client.configSet('maxmemory', '0');
    await store.kv.put('k', { v: 3 });
  });

  it('fails with UNAVAILABLE while it is a replica', async () => {
    const [server, master] = [await ownServer(), await ownServer()];
    const store = await openStore(server.url);
    const client = await openClient(server.url);
    await client.sendCommand(['REPLICAOF', '127.0.0.1', new URL(master.url).port]);
    expect(await failureOf(store.kv.put('k', { v: 1 }))).toMatchObject({ code: 'UNAVAILABLE', outcome: 'rejected' });
    await client.sendCommand(['REPLICAOF', 'NO', 'ONE']);
    await untilDone(() => store.kv.put('k', { v: 1 }));
  });

  it('fails one call, not the others of its batch, when a foreign value is stored under its key', async () => {
    const prefix = newPrefix();
    const store = await openStore(sharedServer(), { prefix, buckets: 1 });
    const client = await openClient(sharedServer());
    await client.set(`${prefix}:{b00}:kv:default:foreign`, 'text');
    const outcomes = await Promise.allSettled([
      store.kv.setField('a', 'f', '1'),
      store.kv.setField('foreign', 'f', '1'),
      store.kv.setField('b', 'f', '1'),
      store.kv.put('c', { f: '1' }),
      store.kv.put('foreign', { f: '1' }),
      store.kv.put('d', { f: '1' }),
    ]);
    expect(outcomes.map(({ status }) => status)).toEqual([
      ...['fulfilled', 'rejected', 'fulfilled'],
      ...['fulfilled', 'rejected', 'fulfilled'],
    ]);
    expect((outcomes[1] as PromiseRejectedResult).reason).toMatchObject({ code: 'STORAGE_ERROR' });
  });
});

describe.skipIf(WITHOUT_REDIS)('a damaged counter of revisions', () => {
  it('fails the calls of its bucket, and no other bucket uses a revision twice', async () => {
    const prefix = newPrefix();
    const store = await openStore(sharedServer(), { prefix, buckets: 2 });
    const layout = new Layout(prefix, 2);
    const bucketOf = (key: string) => layout.bucketOfRecord({ space: 'kv', tenantId: 'default', key });
    const keys = Array.from({ length: 20 }, (_, at) => `k${at}`);
    const [sound, sick] = [keys.filter((key) => bucketOf(key) === 0), keys.filter((key) => bucketOf(key) === 1)];
    const client = await openClient(sharedServer());
    await client.set(layout.shared(1, 'revision'), 'damaged');
    const setAll = async () => {
      const outcomes = await Promise.allSettled(keys.map((key) => store.kv.setField(key, 'f', '1')));
      return new Map(keys.map((key, at) => [key, outcomes[at]!]));
    };
    for (let round = 0; round < 3; round++) {
      const outcomes = await setAll();
      for (const key of sound) expect(outcomes.get(key)!.status).toBe('fulfilled');
      for (const key of sick) expect(outcomes.get(key)).toMatchObject({ reason: { code: 'STORAGE_ERROR' } });
    }
    const revisions = await Promise.all(sound.map(async (key) => (await store.kv.get(key))!.revision));
    expect(new Set(revisions).size).toBe(sound.length);
    expect(await client.get(layout.shared(0, 'revision'))).toBe(String(3 * sound.length));
  });
});

describe.skipIf(WITHOUT_REDIS)('more calls than may wait (GEN-3)', () => {
  it("' fail with OVERLOADED, and the others are executed", async () => {
    const store = await openStore(sharedServer(), { timeoutMs: 25_000 });
    const calls = Array.from({ length: 12_000 }, (_, at) => store.kv.setField(`k${at}`, 'f', at));
    const outcomes = await Promise.allSettled(calls);
    const refused = outcomes.filter((outcome) => outcome.status === 'rejected');
    expect(refused.length).toBeGreaterThan(0);
    expect(refused.length).toBeLessThan(6_000);
    for (const { reason } of refused) expect(reason).toMatchObject({ code: 'OVERLOADED', outcome: 'rejected' });
    let stored = 0;
    for await (const _ of store.kv.scan('')) stored++;
    expect(stored).toBe(calls.length - refused.length);
  });
});
