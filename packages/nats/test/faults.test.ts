/** The errors that callers get when servers or connections fail, and that they are true (GEN-3, GEN-8). */
import { setTimeout as sleep } from 'node:timers/promises';
import { isTidemarkError, type Store } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FaultProxy } from '../../../faults/proxy.ts';
import { runQuietly } from '../../../scripts/processes.ts';
import { startOwnServer } from '../../../scripts/servers/index.ts';
import { natsStore } from '../src/index.ts';
import { sharedServer, WITHOUT_NATS } from './servers.ts';
import { keysOf, newStreams, openStore, runEvent } from './stores.ts';

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

/** Opens a store behind a proxy, and one that connects directly to the same streams. */
async function behindProxy(timeoutMs?: number): Promise<{ proxy: FaultProxy; store: Store; direct: Store }> {
  const { url, prefix } = newStreams();
  const proxy = await FaultProxy.before(url);
  onTestFinished(() => proxy.close());
  const direct = await openStore({ url, prefix });
  const store = await openStore({ url: `nats://127.0.0.1:${proxy.port}`, prefix, ...(timeoutMs && { timeoutMs }) });
  return { proxy, store, direct };
}

async function untilAppended(store: Store, event = runEvent('r'), limitMs = 20_000): Promise<void> {
  const limit = performance.now() + limitMs;
  for (;;) {
    try {
      await store.runs.appendEvent(event);
      return;
    } catch (error) {
      if (!isTidemarkError(error) || !error.retryable || performance.now() > limit) throw error;
    }
    await sleep(20);
  }
}

describe.skipIf(WITHOUT_NATS)('an acknowledgement that is lost after the message was stored (F8)', () => {
  it('is settled by the subject: the append returns the stored event, once', async () => {
    const { proxy, store, direct } = await behindProxy();
    await store.runs.appendEvent(runEvent('r', 'first'));
    const event = runEvent('r', 'lost-reply-key');
    proxy.cutReplyTo('lost-reply-key');
    expect(await store.runs.appendEvent(event)).toMatchObject({ runSeq: 2, persisted: true, eventId: event.eventId });
    expect(proxy.cuts).toBe(1);
    expect(await keysOf(direct, 'r')).toEqual(['first', 'lost-reply-key']);
    expect(await store.runs.appendEvent(event)).toMatchObject({ runSeq: 2, idempotent: true });
  });

  it('is settled for a new run, for a swap and for a removal too', async () => {
    const { proxy, store, direct } = await behindProxy();
    proxy.cutReplyTo('begins-the-run');
    expect(await store.runs.appendEvent(runEvent('new', 'begins-the-run'))).toMatchObject({
      runSeq: 1,
      persisted: true,
    });
    await store.kv.put('k', { count: 1 });
    proxy.cutReplyTo('counted-to-two');
    expect(await store.kv.compareAndSwap('k', 'count', '1', 'counted-to-two')).toBe(true);
    proxy.cutReplyTo('Tidemark-End');
    expect(await store.kv.delete('k')).toBe(true);
    expect(proxy.cuts).toBe(3);
    expect(await direct.kv.get('k')).toBeNull();
    expect(await keysOf(direct, 'new')).toEqual(['begins-the-run']);
  });

  it('fails with OUTCOME_UNKNOWN when time runs out, and a retry with the same key settles it', async () => {
    const { proxy, store, direct } = await behindProxy(1_000);
    await store.runs.appendEvent(runEvent('r', 'first'));
    proxy.goSilent();
    const event = runEvent('r', 'into-the-silence');
    const append = await failureOf(store.runs.appendEvent(event));
    expect(append).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect(append.ms, 'not its usual five seconds').toBeLessThan(4_500);
    const read = await failureOf(store.runs.fetchEvents('r', { tenantId: 'default' }));
    expect(read.outcome).toBe('rejected');
    expect(read.ms, 'not its usual five seconds').toBeLessThan(4_500);
    proxy.heal();
    await untilAppended(store, event);
    expect(await keysOf(direct, 'r')).toEqual(['first', 'into-the-silence']);
  });
});

describe.skipIf(WITHOUT_NATS)('a separate server', () => {
  it("' that cannot be reached fails with UNAVAILABLE, even when a store is opened, and recovers automatically", {
    timeout: 60_000,
  }, async () => {
    const server = await startOwnServer('nats');
    onTestFinished(() => server.stop());
    const store = await openStore({ url: server.url, timeoutMs: 1_000 });
    await store.runs.appendEvent(runEvent('r', 'a'));
    await server.kill!();
    expect(await failureOf(natsStore({ url: server.url, timeoutMs: 500 }))).toMatchObject({ code: 'UNAVAILABLE' });
    await sleep(200);
    expect(await failureOf(store.runs.appendEvent(runEvent('r', 'b')))).toMatchObject({ outcome: 'rejected' });
    expect(await failureOf(store.kv.get('k'))).toMatchObject({ outcome: 'rejected' });
    expect(await store.ping()).toBe(false);
    await server.revive!();
    await untilAppended(store, runEvent('r', 'c'));
    expect(await keysOf(store, 'r')).toEqual(['a', 'c']);
    expect(await store.ping()).toBe(true);
  });

  it('continues tails, watches, lists and scans after it was killed and restarted', { timeout: 60_000 }, async () => {
    const server = await startOwnServer('nats');
    onTestFinished(() => server.stop());
    const store = await openStore({ url: server.url });
    const other = await openStore({ url: server.url });
    const stop = new AbortController();
    const [tailed, watched]: [string[], string[]] = [[], []];
    const tailing = (async () => {
      try {
        for await (const { idempotencyKey } of store.runs.tail('r', { tenantId: 'default', signal: stop.signal }))
          tailed.push(idempotencyKey);
      } catch (error) {
        tailed.push(String(error));
      }
    })();
    const watching = (async () => {
      for await (const { key } of store.kv.watch('w.', { signal: stop.signal })) watched.push(key);
    })();
    await other.runs.appendEvent(runEvent('r', 'before'));
    while (watched.length === 0) {
      await other.kv.put('w.before', { v: 1 });
      await sleep(20);
    }
    expect((await store.runs.listRuns()).items.map(({ lastEventSeq }) => lastEventSeq)).toEqual([1]);
    await server.kill!();
    await server.revive!();
    await untilAppended(other, runEvent('r', 'after'));
    await other.kv.put('w.after', { v: 2 });
    const limit = performance.now() + 20_000;
    while ((tailed.at(-1) !== 'after' || watched.at(-1) !== 'w.after') && performance.now() < limit) await sleep(20);
    expect((await store.runs.listRuns()).items.map(({ lastEventSeq }) => lastEventSeq)).toEqual([2]);
    expect((await store.kv.scanPage('w.')).items.map(({ key }) => key)).toEqual(['w.after', 'w.before']);
    stop.abort();
    await Promise.all([tailing, watching]);
    expect([tailed, watched.at(-1)]).toEqual([['before', 'after'], 'w.after']);
  });
});

describe.skipIf(WITHOUT_NATS)('writers of several clients on one run', () => {
  it('store each event once, in dense sequences', async () => {
    const { url, prefix } = newStreams(sharedServer());
    const stores = await Promise.all([1, 2, 3].map(() => openStore({ url, prefix })));
    const sent = Array.from({ length: 60 }, (_, at) => runEvent('r', `key-${at}`));
    // Two of the three clients send each event.
    const results = await Promise.all(
      sent.flatMap((event, at) => [0, 1].map((plus) => stores[(at + plus) % 3]!.runs.appendEvent(event))),
    );
    expect(results.filter(({ persisted }) => persisted)).toHaveLength(60);
    expect((await keysOf(stores[0]!, 'r')).sort()).toEqual(sent.map(({ idempotencyKey }) => idempotencyKey!).sort());
    expect(await stores[1]!.runs.verify('r', { tenantId: 'default' })).toMatchObject({ ok: true, events: 60 });
  });
});

describe.skipIf(WITHOUT_NATS)('servers killed under load (F2, F13)', () => {
  const killing = async (...args: string[]) => {
    const { code, output } = await runQuietly(process.execPath, ['scripts/run.js', 'faults/nats-kill', ...args]);
    expect(code, output).toBe(0);
    return output;
  };

  it('lose no acknowledged write, and the client recovers: one server', { timeout: 120_000 }, async () => {
    expect(await killing('--rounds', '3', '--nodes', '1')).toMatch(
      /one server: 3 rounds, [1-9]\d* acked, .* 0 lost, 0 duplicated, 0 problems/,
    );
  });

  it('lose no acknowledged write, and the client recovers: leaders of a cluster', {
    timeout: 180_000,
  }, async () => {
    expect(await killing('--rounds', '2', '--nodes', '3')).toMatch(
      /cluster of three: 2 rounds, [1-9]\d* acked, .* 0 lost, 0 duplicated, 0 problems/,
    );
  });
});
