/** Inline projections on PostgreSQL: lost replies, lost connections, races for the first state, and few connections. */
import { defineEvents, defineProjection, type Projection, type StandardSchema, type Store } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { FaultProxy } from '../../../faults/proxy.ts';
import { newDatabase, openClient, openStore, runEvent, WITHOUT_POSTGRES } from './databases.ts';
import { through } from './servers.ts';

interface Counts {
  events: number;
  keys: string[];
}

/** Records the keys of a run's events. `duringFold` is awaited inside the transaction. */
function keysOf(duringFold: () => Promise<unknown> = async () => {}): Projection<Counts> {
  const schema: StandardSchema<object> = {
    '~standard': {
      version: 1,
      vendor: 'by hand',
      validate: async (value) => {
        await duringFold();
        return { value: value as object };
      },
    },
  };
  return defineProjection({
    name: 'keys',
    version: 1,
    events: defineEvents({ Progress: schema }),
    initial: { events: 0, keys: [] as string[] },
    on: {
      Progress(state, event) {
        state.events += 1;
        state.keys.push(event.idempotencyKey);
      },
    },
  });
}

async function expectFollowed(store: Store, projection: Projection<Counts>, runId: string): Promise<void> {
  const log = await store.runs.fetchEvents(runId);
  expect(await projection.get(store, runId)).toMatchObject({
    lastEventSeq: log.length,
    state: { events: log.length, keys: log.map((event) => event.idempotencyKey) },
  });
}

describe.skipIf(WITHOUT_POSTGRES)('inline projections on PostgreSQL', () => {
  it('are folded once when the reply to the COMMIT is lost and the append is retried (F8)', async () => {
    const url = await newDatabase();
    const proxy = await FaultProxy.before(url);
    onTestFinished(() => proxy.close());
    const store = await openStore(through(url, proxy.port));
    const projection = keysOf();
    const [first, event] = [runEvent('r', 'first'), runEvent('r', 'lost')];
    await store.runs.appendEvent(first, { projections: [projection] });
    proxy.cutReplyTo('COMMIT\0');
    await expect(store.runs.appendEvent(event, { projections: [projection] })).rejects.toMatchObject({
      code: 'OUTCOME_UNKNOWN',
    });
    expect(proxy.cuts).toBe(1);
    await expectFollowed(await openStore(url), projection, 'r');
    expect(await store.runs.appendEvent(event, { projections: [projection] })).toMatchObject({
      runSeq: 2,
      idempotent: true,
    });
    await expectFollowed(store, projection, 'r');
  });

  it('write nothing when the connection is lost during a handler', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    const client = await openClient(url);
    let cuts = 0;
    const projection = keysOf(async () => {
      if (++cuts !== 2) return;
      await client.query(`SELECT pg_terminate_backend(pid) FROM pg_stat_activity
        WHERE state = 'idle in transaction' AND datname = current_database()`);
    });
    await store.runs.appendEvent(runEvent('r', 'first'), { projections: [projection] });
    const event = runEvent('r', 'second');
    await expect(store.runs.appendEvent(event, { projections: [projection] })).rejects.toMatchObject({
      retryable: true,
      outcome: 'rejected',
    });
    expect(await store.runs.headSeq('r')).toBe(1);
    expect(await store.runs.appendEvent(event, { projections: [projection] })).toMatchObject({ runSeq: 2 });
    await expectFollowed(store, projection, 'r');
  });

  it("' retry when another writer stores the first state of the run first", async () => {
    const url = await newDatabase();
    const [store, other] = [await openStore(url), await openStore(url)];
    await store.runs.appendEvent(runEvent('r', 'without'));
    const plain = keysOf();
    let folds = 0;
    const projection = keysOf(async () => {
      if (++folds === 1) await plain.refresh(other, 'r');
    });
    await store.runs.appendEvent(runEvent('r', 'with'), { projections: [projection] });
    expect(folds, 'the first attempt folded two events, the second one').toBe(3);
    expect(await store.runs.headSeq('r')).toBe(2);
    await expectFollowed(store, projection, 'r');
  });

  it('of many writers on one run leave connections for other runs', async () => {
    const url = await newDatabase();
    const store = await openStore(url, { maxConnections: 2 });
    const projection = keysOf();
    const writes = Array.from({ length: 40 }, (_, at) =>
      store.runs.appendEvent(runEvent('hot', `hot-${at}`), { projections: [projection] }),
    );
    const began = performance.now();
    await store.runs.appendEvent(runEvent('cold'));
    const waited = performance.now() - began;
    const hotBegan = performance.now();
    await Promise.all(writes);
    expect(await store.runs.headSeq('hot')).toBe(40);
    await expectFollowed(store, projection, 'hot');
    expect(waited).toBeLessThan(Math.max(200, performance.now() - hotBegan));
  });

  it('end their transaction at the time limit when a schema never resolves', async () => {
    const url = await newDatabase();
    const store = await openStore(url);
    const client = await openClient(url);
    const stuck = keysOf(() => new Promise(() => {}));
    const append = store.runs.appendEvent(runEvent('r'), { projections: [stuck], timeoutMs: 200 });
    await expect(append).rejects.toMatchObject({ retryable: true });
    await expect
      .poll(
        async () =>
          (
            await client.query(
              "SELECT 1 FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()",
            )
          ).rowCount,
      )
      .toBe(0);
    expect(await store.runs.headSeq('r')).toBe(0);
    expect(await store.runs.appendEvent(runEvent('r'))).toMatchObject({ runSeq: 1 });
  });

  it('notify watchers of the states and tails of the run, in other stores too', async () => {
    const url = await newDatabase();
    const [store, other] = [await openStore(url), await openStore(url)];
    const signal = AbortSignal.timeout(20_000);
    for (const listener of [store, other]) {
      const runId = listener === store ? 'own' : 'others';
      const changes = listener.kv.watch('tidemark.projections.', { signal })[Symbol.asyncIterator]();
      const events = listener.runs.tail(runId, { signal, tenantId: 'default' })[Symbol.asyncIterator]();
      const both = Promise.all([changes.next(), events.next()]);
      await store.runs.appendEvent(runEvent(runId, 'heard'), { projections: [keysOf()] });
      const [change, event] = await both;
      expect(change.value).toMatchObject({ type: 'put', key: `tidemark.projections.keys.1.${runId}` });
      expect(event.value).toMatchObject({ idempotencyKey: 'heard' });
      await changes.return?.();
      await events.return?.();
    }
  });
});
