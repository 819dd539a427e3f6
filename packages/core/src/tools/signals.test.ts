/** Waiters wake for their own topic, at their deadline or when they are aborted, and for nothing else. */
import { expect, it } from 'vitest';
import { Signals } from './signals.ts';
import { sleep } from './sleep.ts';

/** Starts waiting and reports whether the waiter has woken. */
function waiting(signals: Signals, topic: string, call: Parameters<Signals['wait']>[1] = {}) {
  const waiter = { isAwake: false, done: Promise.resolve() };
  waiter.done = signals.wait(topic, call).then(() => {
    waiter.isAwake = true;
  });
  return waiter;
}

it('wakes all waiters of a topic, and no others', async () => {
  const signals = new Signals();
  const [first, second, other] = [waiting(signals, 'a'), waiting(signals, 'a'), waiting(signals, 'b')];
  signals.notify('a');
  await Promise.all([first.done, second.done]);
  expect([signals.awaited, other.isAwake]).toEqual([true, false]);
  signals.notify('nobody waits here');
  signals.notifyAll();
  await other.done;
  expect(signals.awaited).toBe(false);
});

it('waits without end when the call has no deadline', async () => {
  const signals = new Signals();
  const waiter = waiting(signals, 'a');
  await sleep(30);
  expect(waiter.isAwake).toBe(false);
  signals.notifyAll();
  await waiter.done;
});

it('wakes a waiter at its deadline and leaves others of the topic waiting', async () => {
  const signals = new Signals();
  const other = waiting(signals, 'a');
  const began = Date.now();
  await waiting(signals, 'a', { deadline: began + 20 }).done;
  expect(Date.now() - began).toBeGreaterThanOrEqual(19);
  expect([signals.awaited, other.isAwake]).toEqual([true, false]);
  await waiting(signals, 'b', { deadline: began - 1_000 }).done;
  signals.notify('a');
  await other.done;
  expect(signals.awaited).toBe(false);
});

it('wakes when the signal aborts, and at once if it is aborted already', async () => {
  const signals = new Signals();
  const controller = new AbortController();
  const waiter = waiting(signals, 'a', { signal: controller.signal });
  controller.abort();
  await waiter.done;
  await signals.wait('a', { signal: controller.signal });
  expect(signals.awaited).toBe(false);
});
