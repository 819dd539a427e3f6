/** A run is restored to its journal in steps that fit in a message, by count and by length. */
import { expect, it, vi } from 'vitest';
import { MemoryJournal } from '../memory/journal.ts';
import { memoryStore } from '../memory/store.ts';

it('takes several steps when events are long', async () => {
  const store = memoryStore();
  const text = 'x'.repeat(100_000);
  for (let n = 1; n <= 5; n++) await store.runs.handle('r').append('Progress', { text });
  const parts = await Array.fromAsync(store.runs.exportRun('r'));
  await store.runs.deleteRun('r');
  const restore = vi.spyOn(MemoryJournal.prototype, 'restore');
  await store.runs.restoreRun(parts, { overDeleted: true });
  const lengths = restore.mock.calls.map(([, { entries }]) => entries.reduce((sum, { body }) => sum + body.length, 0));
  restore.mockRestore();
  expect(lengths.length).toBe(3);
  expect(Math.max(...lengths)).toBeLessThan(256 * 1024);
  expect((await store.runs.verify('r')).events).toBe(5);
});

it('fills a step up to its limit exactly, and starts another for one more character', async () => {
  const store = memoryStore();
  const limit = 256 * 1024;
  /** Restores a run of two events and returns the length of each step. */
  const stepsOf = async (runId: string, chars: number) => {
    for (const size of [1_000, chars]) await store.runs.handle(runId).append('Progress', { text: 'x'.repeat(size) });
    const parts = await Array.fromAsync(store.runs.exportRun(runId));
    await store.runs.deleteRun(runId);
    const restore = vi.spyOn(MemoryJournal.prototype, 'restore');
    await store.runs.restoreRun(parts, { overDeleted: true });
    const steps = restore.mock.calls.map(([, { entries }]) => entries.reduce((sum, { body }) => sum + body.length, 0));
    restore.mockRestore();
    return steps;
  };
  const [length] = await stepsOf('r1', 1_000);
  const missing = limit - length!;
  expect(await stepsOf('r2', 1_000 + missing)).toEqual([limit]);
  expect(await stepsOf('r3', 1_000 + missing + 1)).toHaveLength(2);
});
