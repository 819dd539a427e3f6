/** Sharing the process among tenants: shares of its time, work in progress, and waking readers. */
import { describe, expect, it, onTestFinished } from 'vitest';
import { Shares } from '../src/limits/shares.ts';
import { Work } from '../src/limits/work.ts';
import { Fanout } from '../src/streams/fanout.ts';

const BUSY_MS = 60;

/** Keeps the event loop busy, with short gaps for timers. */
async function busyUntil(isDone: () => boolean): Promise<void> {
  while (!isDone()) {
    for (const until = performance.now() + BUSY_MS; performance.now() < until; );
    await new Promise((resolve) => setImmediate(resolve));
  }
}

function newShares(): Shares {
  const shares = new Shares();
  onTestFinished(() => shares.close());
  return shares;
}

describe('shares', () => {
  it('do not delay a single tenant, however busy it keeps the process', async () => {
    const shares = newShares();
    const until = performance.now() + 500;
    await busyUntil(() => {
      expect(shares.enter('one', 1_000)).toBeUndefined();
      return performance.now() > until;
    });
    expect(shares.isPacing).toBe(false);
  });

  it('delay a tenant that exceeded its share, and not the others', async () => {
    const shares = newShares();
    await busyUntil(() => {
      shares.enter('greedy', 0);
      shares.enter('polite', 0);
      return shares.isPacing;
    });
    shares.enter('greedy', 10_000);
    const waiting = shares.enter('greedy', 1);
    expect(waiting).toBeInstanceOf(Promise);
    for (let n = 0; n < 10; n++) expect(shares.enter('polite', 0.1)).toBeUndefined();
    expect(shares.waiting).toBe(1);
    shares.close();
    await waiting;
  });

  it('end when the process is no longer busy', async () => {
    const shares = newShares();
    await busyUntil(() => {
      shares.enter('greedy', 0);
      shares.enter('polite', 0);
      return shares.isPacing;
    });
    shares.enter('greedy', 100);
    await shares.enter('greedy', 1);
    await expect.poll(() => shares.isPacing, { timeout: 30_000 }).toBe(false);
  });

  it('space very large bodies while others are active', async () => {
    const shares = newShares();
    expect(shares.space('one', 1)).toBeUndefined();
    await expect
      .poll(
        () => {
          shares.enter('one', 0);
          shares.enter('other', 0);
          return shares.space('one', 1) instanceof Promise;
        },
        { interval: 1 },
      )
      .toBe(true);
    expect(() => {
      for (let n = 0; n < 1_000; n++) void shares.space('one', 100);
    }).toThrow(expect.objectContaining({ status: 429 }));
    expect(shares.space('other', 1)).toBeUndefined();
  });
});

describe('work in progress', () => {
  it('is limited for each tenant, in order of arrival, and one piece is always allowed', async () => {
    const work = new Work(newShares());
    expect(work.begin('one', 10_000), 'larger than the bound').toBeUndefined();
    const order: number[] = [];
    const next = [1, 2, 3].map((n) => work.begin('one', 100)!.then(() => order.push(n)));
    expect(work.begin('other', 100)).toBeUndefined();
    work.end('one', 10_000);
    await next[0];
    expect(order).toEqual([1]);
    work.end('one', 100);
    work.end('one', 100);
    await Promise.all(next.slice(0, 2));
    expect(order.slice(0, 2)).toEqual([1, 2]);
  });
});

describe('readers of topics', () => {
  it('are woken tenant by tenant, so that a few readers of one tenant do not wait for thousands of another', async () => {
    const fanout = new Fanout();
    let greedy = 0;
    const waiters = Array.from({ length: 5_000 }, () => ({ wake: () => void greedy++ }));
    const { promise, resolve } = Promise.withResolvers<void>();
    fanout.wake('greedy', waiters, resolve);
    expect(greedy, 'a slice in each turn').toBeLessThan(100);
    let before = -1;
    const { promise: polite, resolve: done } = Promise.withResolvers<void>();
    const wake = () => {
      before = greedy;
    };
    fanout.wake('polite', [{ wake }], done);
    await polite;
    expect(before).toBeLessThan(200);
    await promise;
    expect(greedy).toBe(5_000);
  });
});
