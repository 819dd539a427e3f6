/** The three outcomes (GEN-8) when DynamoDB throttles, fails, loses replies or does batches in part. */
import { isTidemarkError, type Store } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runEvent } from '../../../faults/run-event.ts';
import { dynamodbStore } from '../src/index.ts';
import { ALL_FAULTS, type FaultProxy, randomFaults, startFaultProxy } from './fault-proxy.ts';
import { ownTables, WITHOUT_DYNAMODB } from './servers.ts';

interface Setting {
  proxy: FaultProxy;
  /** Behind the proxy. */
  store: Store;
  /** Without the proxy, over the same tables. */
  direct: Store;
}

async function setUp(timeoutMs = 20_000, requestTimeoutMs = 5_000): Promise<Setting> {
  const tables = ownTables();
  const direct = await dynamodbStore({ ...tables, timeoutMs: 20_000 });
  const proxy = await startFaultProxy(tables.url);
  const store = await dynamodbStore({ ...tables, url: proxy.url, timeoutMs, requestTimeoutMs });
  onTestFinished(async () => {
    await store.close();
    await direct.close();
    await proxy.stop();
  });
  return { proxy, store, direct };
}

/** Injects a fault into the first requests of an operation. */
function first(count: number, operation: RegExp, fault: (typeof ALL_FAULTS)[number]) {
  let left = count;
  return (of: string) => (operation.test(of) && left-- > 0 ? fault : null);
}

async function keysOf(store: Store, runId: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { runSeq, idempotencyKey } of store.runs.readEvents(runId, { tenantId: 'default', limit: 1_000 })) {
    expect(runSeq).toBe(keys.length + 1);
    keys.push(idempotencyKey);
  }
  return keys;
}

async function textOf(store: Store, key: string, field: string): Promise<string | null> {
  const bytes = await store.kv.getField(key, field);
  return bytes && Buffer.from(bytes).toString();
}

/** Swaps the counter, and settles an unknown outcome with the same request id. */
async function swapCounter({ kv }: Store, before: string | null, after: string): Promise<boolean> {
  const requestId = crypto.randomUUID();
  for (;;) {
    try {
      return await kv.compareAndSwap('counter', 'n', before, after, { requestId });
    } catch (error) {
      if (!isTidemarkError(error, 'OUTCOME_UNKNOWN')) throw error;
    }
  }
}

describe.skipIf(WITHOUT_DYNAMODB)('An append', () => {
  it.each(['lost', 'failed late', 'failed', 'conflict', 'throttled', 'slow'] as const)(
    'is stored once when its first requests are %s',
    async (fault) => {
      const { proxy, store, direct } = await setUp();
      proxy.decide = first(fault === 'slow' ? 1 : 2, /Transact/, fault);
      await store.runs.appendEvent(runEvent('r', 'a'));
      proxy.decide = first(fault === 'slow' ? 1 : 2, /Transact/, fault);
      await store.runs.appendEvent(runEvent('r', 'b'));
      expect(proxy.counts.get(fault)).toBe(fault === 'slow' ? 2 : 4);
      expect(await keysOf(direct, 'r')).toEqual(['a', 'b']);
      expect((await direct.runs.verify('r')).ok).toBe(true);
    },
  );

  it('fails with OVERLOADED and stores nothing while DynamoDB throttles', async () => {
    const { proxy, store, direct } = await setUp(400);
    proxy.decide = (operation) => (operation.startsWith('Transact') ? 'throttled' : null);
    const failure = await store.runs.appendEvent(runEvent('r')).catch((error) => error);
    expect(failure).toMatchObject({ code: expect.stringMatching(/^(OVERLOADED|OUTCOME_UNKNOWN)$/), retryable: true });
    expect(await direct.runs.headSeq('r', { tenantId: 'default' })).toBe(0);
  });

  it('fails with OUTCOME_UNKNOWN when every reply is lost, and its retry settles it', async () => {
    const { proxy, store, direct } = await setUp(500, 100);
    proxy.decide = (operation) => (operation.startsWith('Transact') ? 'lost' : null);
    const failure = await store.runs.appendEvent(runEvent('r', 'a')).catch((error) => error);
    expect(failure).toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    const retried = await direct.runs.appendEvent(runEvent('r', 'a'));
    expect(retried).toMatchObject({ persisted: false, runSeq: 1 });
    expect(await keysOf(direct, 'r')).toEqual(['a']);
  });
});

describe.skipIf(WITHOUT_DYNAMODB)('A write of a record', () => {
  it.each(['lost', 'failed late', 'failed', 'conflict', 'throttled'] as const)(
    'is applied once when its first requests are %s',
    async (fault) => {
      const { proxy, store, direct } = await setUp();
      for (const value of ['1', '2', '3']) {
        proxy.decide = first(2, /Put|Update/, fault);
        expect(await store.kv.compareAndSwap('k', 'x', value === '1' ? null : String(Number(value) - 1), value)).toBe(
          true,
        );
      }
      expect(await textOf(direct, 'k', 'x')).toBe('3');
      proxy.decide = first(2, /Put|Update|Transact/, fault);
      expect(await store.kv.delete('k')).toBe(true);
      expect(await direct.kv.get('k')).toBeNull();
    },
  );

  it('in a batch is applied with all others or not at all, even if replies are lost', async () => {
    const { proxy, store, direct } = await setUp();
    proxy.decide = first(3, /Transact/, 'failed late');
    const operations = ['a', 'b', 'c'].map((key) => ({ op: 'put', key, fields: { x: 1 } }) as const);
    expect((await store.kv.batch(operations)).written).toBe(true);
    proxy.decide = first(2, /Transact/, 'conflict');
    const again = [{ op: 'put', key: 'a', fields: { x: 2 }, expectedRevision: 0 }, ...operations.slice(1)] as const;
    expect((await store.kv.batch(again)).written).toBe(false);
    expect(await textOf(direct, 'a', 'x')).toBe('1');
  });
});

describe.skipIf(WITHOUT_DYNAMODB)('Two writers behind a faulty network', () => {
  it('lose and double nothing, in runs, in the feed and in a counter', { timeout: 120_000 }, async () => {
    const { proxy, store, direct } = await setUp(60_000, 1_000);
    proxy.decide = randomFaults(7, 0.25, ALL_FAULTS);
    const keys = Array.from({ length: 30 }, (_, at) => `k${at}`);
    const append = (of: Store, half: number) =>
      Promise.all(keys.filter((_, at) => at % 2 === half).map((key) => of.runs.appendEvent(runEvent('r', key))));
    const count = async (of: Store) => {
      for (let done = 0; done < 10; ) {
        const before = await textOf(of, 'counter', 'n');
        if (await swapCounter(of, before, String(Number(before) + 1))) done++;
      }
    };
    // Text that is larger than an item, so that it is staged.
    const large = store.runs.appendEvent(runEvent('large', 'a', { text: 'x'.repeat(450_000) }));
    await Promise.all([append(store, 0), append(direct, 1), count(store), count(direct), large]);
    expect((await keysOf(direct, 'r')).sort()).toEqual([...keys].sort());
    expect(await textOf(direct, 'counter', 'n')).toBe('20');
    const { items } = await store.runs.feedPage({ limit: 100 });
    const fed = items.map(({ event }) => event);
    expect(fed.filter(({ runId }) => runId === 'r').map(({ runSeq }) => runSeq)).toEqual(keys.map((_, at) => at + 1));
    expect(fed.filter(({ runId }) => runId === 'large')).toHaveLength(1);
    expect(proxy.counts.size).toBeGreaterThan(ALL_FAULTS.length / 2);
  });
});

describe.skipIf(WITHOUT_DYNAMODB)('A swap whose reply is lost', () => {
  /** Loses the reply to a swap, and lets its retry pass only after other swaps. Returns how the swap ended. */
  async function swapBefore(followers: number, kind: 'update' | 'put') {
    const { proxy, store, direct } = await setUp();
    await direct.kv.put('counter', { n: 0, other: 0 });
    let sent = 0;
    let held = true;
    proxy.decide = (operation) => {
      if (operation !== (kind === 'put' ? 'PutItem' : 'UpdateItem')) return null;
      if (sent++ === 0) return 'lost';
      return held ? 'throttled' : null;
    };
    // A write that removes a field reads the record and replaces it.
    const set: Record<string, number | null> = kind === 'put' ? { n: 1, other: null } : { n: 1 };
    const swap = store.kv.swap('counter', { expected: { n: 0 }, set }).catch((error: unknown) => error);
    await expect.poll(() => textOf(direct, 'counter', 'n')).toBe('1');
    for (let n = 1; n <= followers; n++) expect(await direct.kv.compareAndSwap('counter', 'n', n, n + 1)).toBe(true);
    held = false;
    const outcome = await swap;
    expect(await textOf(direct, 'counter', 'n')).toBe(String(followers + 1));
    return outcome;
  }

  it.each(['update', 'put'] as const)('is recognised after seven writes of others (%s)', async (kind) => {
    expect(await swapBefore(7, kind)).toMatchObject({ swapped: true });
  });

  it('fails with OUTCOME_UNKNOWN after more, and is never reported as rejected', async () => {
    expect(await swapBefore(8, 'update')).toMatchObject({ code: 'OUTCOME_UNKNOWN', retryable: true });
  });

  it('is reported as rejected when it was never applied, even if others wrote in between', async () => {
    const { proxy, store, direct } = await setUp();
    await direct.kv.put('counter', { n: 0 });
    let sent = 0;
    let held = true;
    // The error of the first request leaves open whether it was applied.
    proxy.decide = (operation) =>
      operation !== 'UpdateItem' ? null : sent++ === 0 ? 'failed' : held ? 'throttled' : null;
    const swap = store.kv.compareAndSwap('counter', 'n', 0, 1);
    await expect.poll(() => sent).toBeGreaterThan(1);
    for (let n = 5; n < 10; n++) await direct.kv.setField('counter', 'n', n);
    held = false;
    expect(await swap).toBe(false);
    expect(await textOf(direct, 'counter', 'n')).toBe('9');
  });
});
