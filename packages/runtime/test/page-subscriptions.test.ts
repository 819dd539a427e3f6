/** Subscriptions that handle pages: order, retries, dead letters, epochs and lag. */
import type { FeedItem, NoticeItem, Store } from '@tidemark/core';
import { listDeadLetters, type PageSubscriptionOptions, type Subscription, subscribePages } from '@tidemark/runtime';
import { describe, expect, onTestFinished, test } from 'vitest';
import { ENGINES } from './engines.ts';
import { openStore } from './stores.ts';

async function started(store: Store, options: Omit<PageSubscriptionOptions, 'name'>): Promise<Subscription> {
  const subscription = await subscribePages(store, { name: 'pages', lease: '2s', ...options });
  onTestFinished(() => subscription.stop());
  return subscription;
}

const named = (items: readonly (FeedItem | NoticeItem)[]) =>
  items.map((item) => ('event' in item ? `${item.event.runId} ${item.event.runSeq}` : item.notice.kind));

describe.each(Object.keys(ENGINES))('subscriptions to pages on %s', (engine) => {
  test('receive events and notices in order, retry a page as a whole, and resume', async () => {
    const store = await openStore(engine);
    for (let at = 0; at < 30; at++) await store.runs.handle(`r${at % 3}`).append('Progress', { at });
    await store.runs.deleteRun('r2');
    const received: string[] = [];
    const attempts: number[] = [];
    const errors: unknown[] = [];
    const options = {
      notices: true,
      pageSize: 8,
      onPage: async (items: readonly (FeedItem | NoticeItem)[], { attempt }: { attempt: number }) => {
        attempts.push(attempt);
        if (attempts.length === 2) throw new Error('not yet');
        received.push(...named(items));
      },
      onError: (error: unknown) => errors.push(error),
    };
    const first = await started(store, options);
    await expect.poll(() => received).toContain('deleted');
    expect(attempts.slice(0, 3)).toEqual([1, 1, 2]);
    expect(errors.map(String)).toEqual(['Error: not yet']);
    const inOrder = (runId: string) => Array.from({ length: 10 }, (_, at) => `${runId} ${at + 1}`);
    for (const runId of ['r0', 'r1']) expect(received.filter((it) => it.startsWith(runId))).toEqual(inOrder(runId));
    expect(first.status()).toMatchObject({ shards: [0], handled: received.length, retried: 1, dead: 0 });
    await first.stop();
    await store.runs.handle('r0').append('Progress');
    received.length = 0;
    await started(store, options);
    await expect.poll(() => received).toEqual(['r0 11']);
  });

  test('make an event a dead letter on request', async () => {
    const store = await openStore(engine);
    for (const type of ['Good', 'Bad', 'Good']) await store.runs.handle('r').append(type);
    let stored = 0;
    const subscription = await started(store, {
      onPage: async (items, { giveUp }) => {
        for (const item of items) {
          if (!('event' in item)) continue;
          if (item.event.eventType === 'Bad') await giveUp(item.event, new Error('cannot do it'));
          else stored++;
        }
      },
    });
    await expect.poll(() => stored).toBe(2);
    await expect.poll(() => subscription.status().handled).toBe(3);
    expect(subscription.status().dead).toBe(1);
    const letters = await Array.fromAsync(listDeadLetters(store, 'pages'));
    expect(letters).toMatchObject([{ runId: 'r', runSeq: 2 }]);
  });
});

test('each holder of a shard has a higher epoch than the ones before', async () => {
  const store = await openStore('memory');
  const epochs: number[] = [];
  for (let round = 0; round < 3; round++) {
    await store.runs.handle('r').append('Progress');
    const subscription = await started(store, { onPage: async (_, { epoch }) => void epochs.push(epoch) });
    await expect.poll(() => epochs.length).toBe(round + 1);
    await subscription.stop();
  }
  expect(epochs).toEqual([...new Set(epochs)].sort((a, b) => a - b));
});

test('the lag grows while a page cannot be handled, and is 0 afterwards', async () => {
  const store = await openStore('memory');
  let works = true;
  const subscription = await started(store, {
    onPage: async () => {
      if (!works) throw new Error('not yet');
    },
    onError: () => {},
  });
  await store.runs.handle('r').append('Progress');
  await expect.poll(() => subscription.status().handled).toBe(1);
  works = false;
  await store.runs.handle('r').append('Progress');
  await expect.poll(() => subscription.status().lagMs).toBeGreaterThan(2_500);
  works = true;
  await expect.poll(() => subscription.status().lagMs).toBe(0);
});
