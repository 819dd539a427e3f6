import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { sleep } from './sleep.ts';

describe('sleep', () => {
  it('resolves after the given time and leaves no listener behind', async () => {
    const { signal } = new AbortController();
    const began = performance.now();
    await sleep(20, signal);
    expect(performance.now() - began).toBeGreaterThan(18);
    expect(getEventListeners(signal, 'abort')).toEqual([]);
  });

  it('resolves at once when its signal aborts, before or during the sleep', async () => {
    const controller = new AbortController();
    const began = performance.now();
    const asleep = sleep(60_000, controller.signal);
    controller.abort();
    await asleep;
    await sleep(60_000, controller.signal);
    expect(performance.now() - began).toBeLessThan(30_000);
  });
});
