/**
 * One damaged run while subscriptions and a projector run, on every engine: they continue, and after the release no
 * event is missing or handled twice (RUN-20).
 */
import type { Store } from '@tidemark/core';
import { createProjector, type SubscriptionOptions, subscribe } from '@tidemark/runtime';
import { afterEach, describe, expect, test } from 'vitest';
import { type Damage, damagedStore } from '../../../faults/damaged-store.ts';
import { ENGINES } from './engines.ts';

const QUICK = { lease: '2s', shards: 4, retry: { attempts: 3, backoff: 5 } } as const;

describe.each(Object.entries(ENGINES))('a damaged run on %s', (_, createDatabase) => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function opened(damage: Damage) {
    const database = await createDatabase();
    closing.push(() => database.remove());
    const whole = await database.open();
    closing.push(() => whole.close());
    return { whole, store: damagedStore(whole, damage) };
  }

  const append = async (store: Store, runId: string, from: number, to: number) => {
    for (let n = from; n <= to; n++) await store.runs.handle(runId).append('Progress', { n });
  };

  function subscribed(store: Store, received: string[], more: Partial<SubscriptionOptions> = {}) {
    return subscribe(store, {
      ...QUICK,
      name: 'all',
      handler: ({ runId, runSeq }) => void received.push(`${runId} ${runSeq}`),
      ...more,
    });
  }

  const of = (received: readonly string[], runId: string) =>
    received.filter((it) => it.startsWith(`${runId} `)).map((it) => Number(it.split(' ')[1]));

  test('does not stop a subscription, and is delivered once and in order after its release, across a restart', async () => {
    const damage: Damage = { run: { tenantId: 'default', runId: 'sick' }, runSeq: 3 };
    const { whole, store } = await opened(damage);
    const received: string[] = [];
    await append(whole, 'sick', 1, 5);
    await append(whole, 'well', 1, 5);
    const first = await subscribed(store, received);
    await until(() => of(received, 'well').length === 5);
    await append(whole, 'sick', 6, 7);
    await append(whole, 'well', 6, 7);
    await until(() => of(received, 'well').length === 7);
    expect(of(received, 'sick')).toEqual([1, 2]);
    await first.stop();
    damage.run = null;
    await store.runs.releaseRun('sick');
    await append(whole, 'sick', 8, 8);
    const second = await subscribed(store, received);
    await until(() => of(received, 'sick').length >= 8);
    await append(whole, 'sick', 9, 9);
    await append(whole, 'well', 8, 8);
    await until(() => of(received, 'sick').length >= 9 && of(received, 'well').length >= 8);
    await second.stop();
    expect(of(received, 'sick')).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(of(received, 'well')).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test('is handled in order if it is released before a subscription reaches it', async () => {
    const damage: Damage = { run: { tenantId: 'default', runId: 'sick' }, runSeq: 2 };
    const { whole, store } = await opened(damage);
    const received: string[] = [];
    await append(whole, 'well', 1, 2);
    const first = await subscribed(store, received);
    await until(() => received.length === 2);
    await first.stop();
    await append(whole, 'sick', 1, 4);
    await store.runs.verify('sick');
    damage.run = null;
    await store.runs.releaseRun('sick');
    const second = await subscribed(store, received);
    await until(() => of(received, 'sick').length >= 4);
    await append(whole, 'sick', 5, 5);
    await until(() => of(received, 'sick').length >= 5);
    await second.stop();
    expect(of(received, 'sick')).toEqual([1, 2, 3, 4, 5]);
  });

  test('continues at the failed event if the handler fails during the release', async () => {
    const damage: Damage = { run: { tenantId: 'default', runId: 'sick' }, runSeq: 2 };
    const { whole, store } = await opened(damage);
    const received: string[] = [];
    await append(whole, 'sick', 1, 5);
    await append(whole, 'well', 1, 1);
    const first = await subscribed(store, received);
    await until(() => of(received, 'well').length === 1);
    await first.stop();
    damage.run = null;
    await store.runs.releaseRun('sick');
    const stopping = new AbortController();
    const second = await subscribed(store, received, {
      handler: async ({ runId, runSeq }, { signal }) => {
        if (runSeq === 4 && !stopping.signal.aborted) {
          stopping.abort();
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
          throw new Error('stopped');
        }
        received.push(`${runId} ${runSeq}`);
      },
    });
    await until(() => stopping.signal.aborted);
    await second.stop();
    const third = await subscribed(store, received);
    await until(() => of(received, 'sick').length >= 5);
    await third.stop();
    expect(of(received, 'sick')).toEqual([1, 2, 3, 4, 5]);
  });

  test('does not stop a projector, which folds it after its release', async () => {
    const damage: Damage = { run: { tenantId: 'default', runId: 'sick' }, runSeq: 3 };
    const { whole, store } = await opened(damage);
    await append(whole, 'sick', 1, 5);
    const projector = await createProjector({ store, shards: 4, lease: '2s' });
    closing.push(() => projector.stop());
    for (let n = 1; n <= 20; n++) await append(whole, `well-${n}`, 1, 2);
    const seqOf = async (runId: string) => (await whole.runs.getSnapshot(runId))?.lastEventSeq ?? 0;
    for (let n = 1; n <= 20; n++) await until(async () => (await seqOf(`well-${n}`)) === 2);
    // The other shards may have folded their runs before the one with the damage has looked at it.
    await until(async () => (await store.runs.listQuarantined()).items.length > 0);
    expect((await store.runs.listQuarantined()).items).toMatchObject([{ runId: 'sick', fromSeq: 3 }]);
    damage.run = null;
    await store.runs.releaseRun('sick');
    await until(async () => (await seqOf('sick')) === 5);
  });
});

async function until(isSo: () => boolean | Promise<boolean>): Promise<void> {
  const deadline = Date.now() + 20_000;
  while (!(await isSo())) {
    if (Date.now() > deadline) throw new Error('It did not happen within 20 s');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
