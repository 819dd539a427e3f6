/** Subscriptions on every engine: each event at least once and in order, shared, resumed, given up on. */
import type { RunEventRecord, Store } from '@tidemark/core';
import {
  discardDeadLetter,
  listDeadLetters,
  redeliver,
  type Subscription,
  type SubscriptionOptions,
  subscribe,
} from '@tidemark/runtime';
import { afterEach, describe, expect, test } from 'vitest';
import { type Database, ENGINES } from './engines.ts';

const QUICK = { lease: '2s', retry: { attempts: 3, backoff: 5 } } as const;

describe.each(Object.entries(ENGINES))('subscriptions on %s', (_, createDatabase) => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function newDatabase(): Promise<Database> {
    const made = await createDatabase();
    closing.push(() => made.remove());
    return made;
  }

  async function opened(at: Database): Promise<Store> {
    const store = await at.open();
    closing.push(() => store.close());
    return store;
  }

  async function started(store: Store, options: SubscriptionOptions): Promise<Subscription> {
    const subscription = await subscribe(store, { ...QUICK, ...options });
    closing.push(() => subscription.stop());
    return subscription;
  }

  test('receive every event, in the order of its run', async () => {
    const store = await opened(await newDatabase());
    await append(store, 20, 5);
    const received: RunEventRecord[] = [];
    await started(store, { name: 'all', handler: (event) => void received.push(event) });
    await append(store, 20, 5);
    await until(() => received.length === 200);
    expectInOrder(received);
    expect(new Set(received.map(({ eventId }) => eventId)).size).toBe(200);
  });

  test('filter by type', async () => {
    const store = await opened(await newDatabase());
    await store.runs.handle('r').append('Wanted');
    await store.runs.handle('r').append('Unwanted');
    await store.runs.handle('r').append('Wanted');
    const received: string[] = [];
    await started(store, {
      name: 'some',
      filter: { eventTypes: ['Wanted'] },
      handler: (event) => void received.push(event.eventType),
    });
    await until(() => received.length === 2);
    expect(received).toEqual(['Wanted', 'Wanted']);
  });

  test('receive notices in the order of the run, and again until they are handled (RUN-22)', async () => {
    const store = await opened(await newDatabase());
    const run = store.runs.handle('r');
    const received: string[] = [];
    let failures = 1;
    await started(store, {
      name: 'copies',
      handler: ({ runSeq }) => void received.push(String(runSeq)),
      onNotice: ({ kind, runId }, { attempt }) => {
        if (failures-- > 0) throw new Error('not yet');
        received.push(`${kind} ${runId} at attempt ${attempt}`);
      },
    });
    await run.append('Wanted');
    await until(() => received.length === 1);
    await store.runs.deleteRun('r');
    await until(() => received.length === 2);
    expect(received).toEqual(['1', 'deleted r at attempt 2']);
  });

  test('resume where they stopped', async () => {
    const store = await opened(await newDatabase());
    await append(store, 5, 4);
    const received: string[] = [];
    const options: SubscriptionOptions = { name: 'again', handler: (event) => void received.push(event.eventId) };
    const first = await started(store, options);
    await until(() => received.length === 20);
    await first.stop();
    await append(store, 5, 4);
    await started(store, options);
    await until(() => received.length >= 40);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(new Set(received).size).toBe(40);
    expect(received.length).toBe(40);
  });

  test('share the work among processes and take over shards', async () => {
    const at = await newDatabase();
    const [one, two] = [await opened(at), await opened(at)];
    const received: { by: string; event: RunEventRecord }[] = [];
    const options = (by: string): SubscriptionOptions => ({
      name: 'shared',
      handler: (event) => void received.push({ by, event }),
    });
    const first = await started(one, options('one'));
    expect(first.status().shards.length).toBeLessThanOrEqual(8);
    const second = await started(two, options('two'));
    await until(() => first.status().shards.length === 4 && second.status().shards.length === 4);
    await append(one, 40, 5);
    await until(() => received.length >= 200);
    expect(new Set(received.map(({ by }) => by)).size).toBe(2);
    await first.stop();
    await until(() => second.status().shards.length === 8);
    await append(two, 40, 2);
    await until(() => received.length >= 280);
    expectInOrder(received.map(({ event }) => event));
    expect(new Set(received.map(({ event }) => event.eventId)).size).toBe(280);
  });

  test('retry, then give up on an event and continue', async () => {
    const store = await opened(await newDatabase());
    const run = store.runs.handle('r');
    for (const type of ['Good', 'Bad', 'Good']) await run.append(type);
    const received: string[] = [];
    let mended = false;
    const handler = (event: RunEventRecord) => {
      received.push(event.eventType);
      if (event.eventType === 'Bad' && !mended) throw new Error('cannot do it');
    };
    const subscription = await started(store, { name: 'bad', handler });
    await until(() => subscription.status().handled === 2);
    expect(received).toEqual(['Good', 'Bad', 'Bad', 'Bad', 'Good']);
    expect(subscription.status()).toMatchObject({ dead: 1, retried: 2 });
    const [letter, ...others] = await Array.fromAsync(listDeadLetters(store, 'bad'));
    expect(others).toEqual([]);
    expect(letter).toMatchObject({ runId: 'r', runSeq: 2, eventType: 'Bad', attempts: 3 });
    expect(letter!.error).toContain('cannot do it');
    mended = true;
    await redeliver(store, 'bad', letter!, handler);
    expect(received.at(-1)).toBe('Bad');
    expect(await Array.fromAsync(listDeadLetters(store, 'bad'))).toEqual([]);
  });

  test('discard dead letters, including those of a removed run', async () => {
    const store = await opened(await newDatabase());
    const run = store.runs.handle('r');
    for (const type of ['Bad', 'Bad']) await run.append(type);
    const handler = () => {
      throw new Error('cannot do it');
    };
    const subscription = await started(store, { name: 'bad', handler });
    await until(() => subscription.status().dead === 2);
    const [first, second] = await Array.fromAsync(listDeadLetters(store, 'bad'));
    expect(await discardDeadLetter(store, 'bad', first!)).toBe(true);
    expect(await discardDeadLetter(store, 'bad', first!), 'once').toBe(false);
    await store.runs.deleteRun('r');
    await expect(redeliver(store, 'bad', second!, () => {})).rejects.toMatchObject({ code: 'RUN_NOT_FOUND' });
    expect(await discardDeadLetter(store, 'bad', second!)).toBe(true);
    expect(await Array.fromAsync(listDeadLetters(store, 'bad'))).toEqual([]);
  });

  test('finish the current event when they stop, and leave the rest', async () => {
    const store = await opened(await newDatabase());
    await append(store, 1, 10);
    let [begun, done] = [0, 0];
    const options: SubscriptionOptions = {
      name: 'slow',
      handler: async () => {
        begun++;
        await new Promise((resolve) => setTimeout(resolve, 30));
        done++;
      },
    };
    const first = await started(store, options);
    await until(() => done >= 2);
    await first.stop();
    expect(done).toBe(begun);
    expect(done).toBeLessThan(10);
    await started(store, options);
    await until(() => done === 10);
    await new Promise((resolve) => setTimeout(resolve, 100));
    expect(done).toBe(10);
  });

  test('reject another number of shards, and invalid names', async () => {
    const store = await opened(await newDatabase());
    const first = await started(store, { name: 'fixed', handler: () => {}, shards: 4 });
    await first.stop();
    await expect(subscribe(store, { name: 'fixed', handler: () => {}, shards: 5 })).rejects.toMatchObject({
      code: 'INVALID_ARGUMENT',
      field: 'shards',
    });
    await expect(subscribe(store, { name: 'a.b', handler: () => {} })).rejects.toMatchObject({ field: 'name' });
  });
});

async function append(store: Store, runs: number, each: number): Promise<void> {
  const name = crypto.randomUUID().slice(0, 8);
  await Promise.all(
    Array.from({ length: runs }, async (_, run) => {
      for (let at = 0; at < each; at++) await store.runs.handle(`${name}-${run}`).append('Progress', { at });
    }),
  );
}

function expectInOrder(events: readonly RunEventRecord[]): void {
  for (const [runId, ofRun] of Map.groupBy(events, (event) => event.runId)) {
    const firsts = [...new Set(ofRun.map(({ runSeq }) => runSeq))];
    expect(firsts, runId).toEqual(firsts.map((_, at) => at + 1));
  }
}

async function until(condition: () => boolean): Promise<void> {
  const end = Date.now() + 20_000;
  while (!condition()) {
    if (Date.now() > end) throw new Error('It did not happen within 20 s');
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}
