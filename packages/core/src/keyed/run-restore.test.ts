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
