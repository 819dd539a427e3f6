/** Queues and retries of concurrent writers, and their bounds (GEN-3). */
import { describe, expect, it } from 'vitest';
import { CONFLICT, Contention, KeyedMutex } from './contention.ts';
import { StoreContext } from './context.ts';

const OVERLOADED = { code: 'OVERLOADED' };
const past = () => ({ deadline: Date.now() - 1 });

describe('KeyedMutex', () => {
  it('starts a task at once when its key is free, even at its deadline', async () => {
    const mutex = new KeyedMutex();
    const started: string[] = [];
    const task = (name: string) => async () => void started.push(name);
    const tasks = [mutex.run('a', past(), task('a')), mutex.run('b', past(), task('b'))];
    expect(started).toEqual(['a', 'b']);
    await Promise.all(tasks);
  });

  it('runs tasks of one key in order, even after one has failed', async () => {
    const mutex = new KeyedMutex();
    const order: number[] = [];
    const tasks = [1, 2, 3].map((n) =>
      mutex.run('k', {}, async () => {
        await new Promise((done) => setTimeout(done, 10 - n));
        order.push(n);
        if (n === 2) throw new Error('failed');
        return n;
      }),
    );
    const settled = await Promise.allSettled(tasks);
    expect(settled.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
    expect(order).toEqual([1, 2, 3]);
  });

  it('does not start a task whose deadline passed, or whose signal aborted, while it waited', async () => {
    const mutex = new KeyedMutex();
    let isStarted = false;
    const start = async () => {
      isStarted = true;
    };
    const first = mutex.run('k', {}, () => new Promise((done) => setTimeout(done, 5)));
    await expect(mutex.run('k', past(), start)).rejects.toMatchObject(OVERLOADED);
    await first;
    const second = mutex.run('k', {}, () => new Promise((done) => setTimeout(done, 5)));
    await expect(mutex.run('k', { signal: AbortSignal.abort() }, start)).rejects.toMatchObject(OVERLOADED);
    await second;
    expect(isStarted).toBe(false);
  });

  it('rejects tasks above its limit, and accepts them again when others have run', async () => {
    const mutex = new KeyedMutex();
    let release = () => {};
    const first = mutex.run('k', {}, () => new Promise<void>((done) => (release = done)));
    const waiting = Array.from({ length: 10_000 }, () => mutex.run('k', {}, async () => {}));
    await expect(mutex.run('k', {}, async () => {})).rejects.toMatchObject(OVERLOADED);
    release();
    await Promise.all([first, ...waiting]);
    expect(await mutex.run('k', {}, async () => 7)).toBe(7);
  });
});

describe('Contention', () => {
  const contention = new Contention(new StoreContext());

  it('repeats an attempt until it wins, up to a limit', async () => {
    let tries = 0;
    expect(await contention.settle({}, async () => (++tries < 6 ? CONFLICT : tries))).toBe(6);
    tries = 0;
    const losing = contention.settle({}, async () => {
      tries++;
      return CONFLICT;
    });
    await expect(losing).rejects.toMatchObject(OVERLOADED);
    expect(tries).toBe(100);
  });

  it('repeats the first lost races immediately, and waits a random time before later attempts', async () => {
    let waits = 0;
    const counting = new Contention({
      random: (size) => {
        waits++;
        return Buffer.alloc(size);
      },
    });
    const settleAfter = async (conflicts: number) => {
      let tries = 0;
      waits = 0;
      await counting.settle({}, async () => (++tries <= conflicts ? CONFLICT : tries));
      return waits;
    };
    expect([await settleAfter(4), await settleAfter(5), await settleAfter(7)]).toEqual([0, 1, 3]);
  });

  it('stops when the deadline has passed', async () => {
    let tries = 0;
    const losing = contention.settle(past(), async () => {
      tries++;
      return CONFLICT;
    });
    await expect(losing).rejects.toMatchObject(OVERLOADED);
    expect(tries).toBe(1);
  });
});

describe('KeyedMutex, when a key is free again', () => {
  it('starts the next task as if it were the first', async () => {
    const mutex = new KeyedMutex();
    await mutex.run('k', {}, async () => 1);
    expect(await mutex.run('k', past(), async () => 2)).toBe(2);
  });
});
