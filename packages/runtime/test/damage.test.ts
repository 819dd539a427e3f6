/** One damaged run beside subscriptions and a projector, on every engine: they go on, and after the release nothing is missing or doubled (RUN-20). */
import type { Store } from '@tidemark/core';
import { createProjector, type SubscriptionOptions, subscribe } from '@tidemark/runtime';
import { afterEach, describe, expect, test } from 'vitest';
import { type Damage, damagedStore } from '../../../faults/damaged-store.ts';
import { ENGINES } from './engines.ts';

const QUICK = { lease: '2s', shards: 4, retry: { attempts: 3, backoff: 5 } } as const;

describe.each(Object.entries(ENGINES))('a damaged run on %s', (_, makePlace) => {
  const closing: (() => Promise<unknown>)[] = [];
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close();
  });

  async function opened(damage: Damage) {
    const place = await makePlace();
    closing.push(() => place.remove());
    const whole = await place.open();
    closing.push(() => whole.close());
    return { whole, store: damagedStore(whole, damage) };
  }

  const append = async (store: Store, runId: string, from: number, to: number) => {
    for (let n = from; n <= to; n++) await store.runs.handle(runId).append('Progress', { n });
  };

  function subscribed(store: Store, heard: string[], more: Partial<SubscriptionOptions> = {}) {
    return subscribe(store, {
      ...QUICK,
      name: 'all',
      handler: ({ runId, runSeq }) => void heard.push(`${runId} ${runSeq}`),
      ...more,
    });
  }

  const of = (heard: readonly string[], runId: string) =>
    heard.filter((it) => it.startsWith(`${runId} `)).map((it) => Number(it.split(' ')[1]));

  test('stops no subscription, and comes after its release once and in order, across a restart', async () => {
    const damage: Damage = { run: { tenantId: 'default', runId: 'sick' }, runSeq: 3 };
    const { whole, store } = await opened(damage);
    const heard: string[] = [];
    await append(whole, 'sick', 1, 5);
    await append(whole, 'well', 1, 5);
    const first = await subscribed(store, heard);
    await until(() => of(heard, 'well').length === 5);
    await append(whole, 'sick', 6, 7);
    await append(whole, 'well', 6, 7);
    await until(() => of(heard, 'well').length === 7);
    expect(of(heard, 'sick')).toEqual([1, 2]);
    await first.stop();
    damage.run = null;
    await store.runs.releaseRun('sick');
    await append(whole, 'sick', 8, 8);
    const second = await subscribed(store, heard);
    await until(() => of(heard, 'sick').length >= 8);
    await append(whole, 'sick', 9, 9);
    await append(whole, 'well', 8, 8);
    await until(() => of(heard, 'sick').length >= 9 && of(heard, 'well').length >= 8);
    await second.stop();
    expect(of(heard, 'sick')).toEqual([1, 2, 3, 4, 5, 6, 7, 8, 9]);
    expect(of(heard, 'well')).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test('that is released before a subscription has come to it is handled in its place', async () => {
    const damage: Damage = { run: { tenantId: 'default', runId: 'sick' }, runSeq: 2 };
    const { whole, store } = await opened(damage);
    const heard: string[] = [];
    await append(whole, 'well', 1, 2);
    const first = await subscribed(store, heard);
    await until(() => heard.length === 2);
    await first.stop();
    await append(whole, 'sick', 1, 4);
    await store.runs.verify('sick');
    damage.run = null;
    await store.runs.releaseRun('sick');
    const second = await subscribed(store, heard);
    await until(() => of(heard, 'sick').length >= 4);
    await append(whole, 'sick', 5, 5);
    await until(() => of(heard, 'sick').length >= 5);
    await second.stop();
    expect(of(heard, 'sick')).toEqual([1, 2, 3, 4, 5]);
  });

  test('whose handler fails in the middle of the release is handled on from there', async () => {
    const damage: Damage = { run: { tenantId: 'default', runId: 'sick' }, runSeq: 2 };
    const { whole, store } = await opened(damage);
    const heard: string[] = [];
    await append(whole, 'sick', 1, 5);
    await append(whole, 'well', 1, 1);
    const first = await subscribed(store, heard);
    await until(() => of(heard, 'well').length === 1);
    await first.stop();
    damage.run = null;
    await store.runs.releaseRun('sick');
    const stopping = new AbortController();
    const second = await subscribed(store, heard, {
      handler: async ({ runId, runSeq }, { signal }) => {
        if (runSeq === 4 && !stopping.signal.aborted) {
          stopping.abort();
          await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
          throw new Error('stopped');
        }
        heard.push(`${runId} ${runSeq}`);
      },
    });
    await until(() => stopping.signal.aborted);
    await second.stop();
    const third = await subscribed(store, heard);
    await until(() => of(heard, 'sick').length >= 5);
    await third.stop();
    expect(of(heard, 'sick')).toEqual([1, 2, 3, 4, 5]);
  });

  test('stops no projector, which folds it once it is released', async () => {
    const damage: Damage = { run: { tenantId: 'default', runId: 'sick' }, runSeq: 3 };
    const { whole, store } = await opened(damage);
    await append(whole, 'sick', 1, 5);
    const projector = await createProjector({ store, shards: 4, lease: '2s' });
    closing.push(() => projector.stop());
    for (let n = 1; n <= 20; n++) await append(whole, `well-${n}`, 1, 2);
    const seqOf = async (runId: string) => (await whole.runs.getSnapshot(runId))?.lastEventSeq ?? 0;
    for (let n = 1; n <= 20; n++) await until(async () => (await seqOf(`well-${n}`)) === 2);
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
