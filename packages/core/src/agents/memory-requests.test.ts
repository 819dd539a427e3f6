/** The requests that a memory state remembers, and the data that remains of a deleted state (AGT-5, GEN-8). */
import { describe, expect, it } from 'vitest';
import { memoryStore } from '../memory/store.ts';
import { type MemoryRequest, memoryRequestsAfter } from './memory-requests.ts';

const MINUTES = 60_000;
const DAY = 24 * 3_600_000;

function filled(count: number, at: (n: number) => number | undefined): MemoryRequest[] {
  return Array.from({ length: count }, (_, n): MemoryRequest => [`r${n}`, n + 1, at(n)]);
}

describe('memoryRequestsAfter', () => {
  const now = 100 * MINUTES;
  const next: MemoryRequest = ['next', 99, now];

  it('holds the last 16 of any age, and all of the last five minutes', () => {
    const old = memoryRequestsAfter(
      filled(20, () => 1),
      next,
      now,
    );
    expect([old.held.length, old.held[0]![0], old.left]).toEqual([16, 'r5', []]);
    const young = memoryRequestsAfter(
      filled(40, (n) => now - 5 * MINUTES + (n < 10 ? 0 : 1)),
      next,
      now,
    );
    expect([young.held.length, young.held[0]![0], young.left]).toEqual([31, 'r10', []]);
  });

  it('drops all but the last 16 when there are more than it may hold', () => {
    const { held, left } = memoryRequestsAfter(
      filled(64, () => now),
      next,
      now,
    );
    expect([held.length, left.length, left[0]![0], held.at(-1)]).toEqual([16, 49, 'r0', next]);
  });

  it('treats requests without a time, from older stores, as recent', () => {
    const { held } = memoryRequestsAfter(
      filled(30, () => undefined),
      next,
      now,
    );
    expect(held).toHaveLength(31);
  });
});

describe('a deleted memory state', () => {
  it('keeps its version for only one day', async () => {
    let now = Date.now();
    const { agents } = memoryStore({ clock: () => now });
    await agents.saveMemoryState('k', { n: 1 });
    await agents.deleteMemoryState('k');
    now += DAY - 1;
    expect(await agents.saveMemoryState('k', { n: 2 })).toEqual({ version: 2 });
    now += 2 * DAY;
    await agents.deleteMemoryState('k');
    now += DAY;
    expect(await agents.saveMemoryState('k', { n: 3 })).toEqual({ version: 1 });
  });

  it('keeps its dropped requests for five minutes', async () => {
    let now = Date.now();
    const { agents } = memoryStore({ clock: () => now });
    const save = (n: number) => agents.saveMemoryState('k', { n }, { requestId: `request-${n}` });
    for (let n = 1; n <= 100; n++) await save(n);
    now += 5 * MINUTES - 1;
    await agents.deleteMemoryState('k');
    expect(await save(1)).toEqual({ version: 1 });
    expect(await save(100)).toEqual({ version: 100 });
    expect(await agents.loadMemoryState('k')).toBeNull();
  });
});
