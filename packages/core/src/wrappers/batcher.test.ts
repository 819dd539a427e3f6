/** The queue of `withBatching` on a fake clock: when it writes, when callers wait, and how long it waits to retry. */
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { Batcher } from './batcher.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

/** Returns a batcher and the batches it wrote; while `isDown` is true, writes fail and are only counted. */
function batcher({ maxBatch = 3, maxDelayMs = 100, maxQueued = 10 } = {}) {
  const state = { isDown: false, attempts: [] as number[], written: [] as string[] };
  const began = Date.now();
  const it = new Batcher<string>({ maxBatch, maxDelayMs, maxQueued }, async (items) => {
    state.attempts.push(Date.now() - began);
    if (state.isDown) throw new Error('down');
    state.written.push(items.join(''));
  });
  return { it, state };
}

const passed = (ms: number) => vi.advanceTimersByTimeAsync(ms);

async function add(it: Batcher<string>, items: string): Promise<void> {
  for (const item of items) await it.add(item, 1_000);
}

describe('a batch is written', () => {
  it('at once when it is full, and after the delay when it is not', async () => {
    const { it, state } = batcher();
    await add(it, 'ab');
    await passed(99);
    expect(state.written).toEqual([]);
    await passed(1);
    expect(state.written).toEqual(['ab']);
    await add(it, 'cde');
    await passed(0);
    expect(state.written).toEqual(['ab', 'cde']);
  });

  it('at once after another one if it is full, else after the delay', async () => {
    const { it, state } = batcher({ maxBatch: 2 });
    void it.add('a', 1_000);
    for (const item of 'bcde') void it.add(item, 1_000);
    await passed(1);
    expect(state.written).toEqual(['ab', 'cd']);
    await passed(98);
    expect(state.written).toEqual(['ab', 'cd']);
    await passed(2);
    expect(state.written).toEqual(['ab', 'cd', 'e']);
  });

  it('by a flush that does not wait for items added later', async () => {
    const { it, state } = batcher({ maxBatch: 2 });
    await add(it, 'a');
    const flushed = it.flush();
    await add(it, 'b');
    await flushed;
    expect(state.written).toEqual(['a']);
    await it.flush();
    await it.flush();
    expect(state.written).toEqual(['a', 'b']);
  });
});

describe('a failed batch', () => {
  it('is retried after delays that double up to two seconds, and start over after a success', async () => {
    const { it, state } = batcher({ maxDelayMs: 0 });
    state.isDown = true;
    await add(it, 'a');
    await passed(6_200);
    const waits = state.attempts.slice(1).map((at, n) => at - state.attempts[n]!);
    expect(waits).toEqual([50, 100, 200, 400, 800, 1_600, 2_000]);
    state.isDown = false;
    await passed(2_000);
    expect(state.written).toEqual(['a']);
    state.isDown = true;
    await add(it, 'b');
    await passed(1);
    const failures = state.attempts.length;
    await passed(49);
    expect(state.attempts.length).toBe(failures + 1);
  });

  it('is not retried sooner because more items arrive', async () => {
    const { it, state } = batcher({ maxBatch: 2 });
    state.isDown = true;
    await add(it, 'ab');
    await passed(0);
    expect(state.attempts).toHaveLength(1);
    await add(it, 'cd');
    await passed(49);
    expect(state.attempts).toHaveLength(1);
    await passed(1);
    expect(state.attempts).toHaveLength(2);
  });

  it('rejects the flush and stays in the queue', async () => {
    const { it, state } = batcher();
    state.isDown = true;
    await add(it, 'a');
    await expect(it.flush()).rejects.toThrow('down');
    state.isDown = false;
    await it.flush();
    expect(state.written).toEqual(['a']);
  });
});

describe('a full queue', () => {
  it('accepts exactly as many items as fit, and lets the same number of callers wait', async () => {
    const { it, state } = batcher({ maxBatch: 5, maxQueued: 2 });
    const accepted: string[] = [];
    const adding = [...'abcd'].map((item) => it.add(item, 1_000).then(() => accepted.push(item)));
    await passed(0);
    expect(accepted).toEqual(['a', 'b']);
    await expect(it.add('e', 1_000)).rejects.toMatchObject({ code: 'OVERLOADED' });
    await it.flush();
    await Promise.all(adding);
    expect(accepted).toEqual(['a', 'b', 'c', 'd']);
    await it.flush();
    expect(state.written).toEqual(['ab', 'cd']);
  });

  it('admits waiting callers in order and no more than fit', async () => {
    const { it, state } = batcher({ maxBatch: 1, maxQueued: 2 });
    const accepted: string[] = [];
    state.isDown = true;
    for (const item of 'abcd') void it.add(item, 60_000).then(() => accepted.push(item));
    await passed(0);
    state.isDown = false;
    await it.flush().catch(() => undefined);
    expect(accepted.slice(0, 3)).toEqual(['a', 'b', 'c']);
    await passed(1_000);
    expect(state.written).toEqual(['a', 'b', 'c', 'd']);
  });

  it('forgets only the caller that waited too long', async () => {
    const { it, state } = batcher({ maxBatch: 1, maxQueued: 1 });
    state.isDown = true;
    await add(it, 'a');
    const waiting = it.add('b', 60_000);
    // A second caller may not wait; the first one keeps waiting.
    await expect(it.add('c', 10)).rejects.toMatchObject({ code: 'OVERLOADED' });
    state.isDown = false;
    await passed(2_000);
    await waiting;
    await it.flush();
    expect(state.written).toEqual(['a', 'b']);
  });

  it('rejects after the time limit, and never writes that item', async () => {
    const { it, state } = batcher({ maxBatch: 1, maxQueued: 2 });
    state.isDown = true;
    await add(it, 'ab');
    const first = it.add('c', 60_000);
    const late = it.add('d', 30).catch((error) => error.code);
    await passed(29);
    await passed(1);
    expect(await late).toBe('OVERLOADED');
    state.isDown = false;
    await passed(5_000);
    await first;
    await it.flush();
    expect(state.written).toEqual(['a', 'b', 'c']);
  });
});

it('drain returns what was not written and stops the timer', async () => {
  const { it: queue, state } = batcher();
  await add(queue, 'ab');
  expect(queue.drain()).toEqual(['a', 'b']);
  await passed(1_000);
  await queue.flush();
  expect(state.attempts).toEqual([]);
  await add(queue, 'c');
  await passed(100);
  expect(state.written).toEqual(['c']);
});
