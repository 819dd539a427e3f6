/** The cleaner works in small steps, on a schedule, and continues after failures. */
import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { artifactSweep, Cleaner, onceInAWhile } from './cleaner.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

it('repeats a step while it returns its limit, then runs the next step', async () => {
  const found = [200, 200, 7, 0];
  const steps: string[] = [];
  const cleaner = new Cleaner([
    async (_, limit) => {
      steps.push(`first of ${limit}`);
      return found.shift()!;
    },
    async () => {
      steps.push('second');
      return 0;
    },
  ]);
  await vi.advanceTimersByTimeAsync(5_000);
  expect(steps).toEqual(['first of 200', 'first of 200', 'first of 200', 'second']);
  await cleaner.stop();
});

it('continues after a failed step', async () => {
  let rounds = 0;
  const cleaner = new Cleaner([() => Promise.reject(new Error('not now')), async () => rounds++ * 0]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(rounds).toBe(2);
  await cleaner.stop();
  await vi.advanceTimersByTimeAsync(10_000);
  expect(rounds).toBe(2);
});

it('runs a costly step only at its interval', async () => {
  let times = 0;
  const cleaner = new Cleaner([onceInAWhile(60_000, 20_000, async () => ++times * 0)]);
  await vi.advanceTimersByTimeAsync(15_000);
  expect(times).toBe(0);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(times).toBe(1);
  await vi.advanceTimersByTimeAsync(60_000);
  expect(times).toBe(2);
  await cleaner.stop();
});

it('sweeps artifacts of all tenants four times an hour', async () => {
  const sweeps: unknown[] = [];
  const sweep = async (only: string | null, now: number) => {
    sweeps.push([only, now]);
    return { references: 0, blobs: 0, bytes: 0 };
  };
  const cleaner = new Cleaner([artifactSweep({ sweep }, () => 42)]);
  await vi.advanceTimersByTimeAsync(3_600_000);
  expect(sweeps.length).toBeGreaterThanOrEqual(3);
  expect(sweeps.length).toBeLessThanOrEqual(4);
  expect(sweeps[0]).toEqual([null, 42]);
  await cleaner.stop();
});
