/** Sizes of statements and steps, and the bound on races. */
import { describe, expect, it } from 'vitest';
import { Raced, settleRaces } from '../src/records/races.ts';
import { batchesOf, paddedKeys, placeholders, removeInSteps } from '../src/statements.ts';

const upTo = (count: number) => Array.from({ length: count }, (_, n) => `${n}`);

describe('statements', () => {
  it('take items in batches of powers of two, in order', () => {
    for (const count of [0, 1, 2, 3, 127, 128, 129, 300]) {
      const batches = [...batchesOf(upTo(count))];
      expect(batches.flat()).toEqual(upTo(count));
      for (const { length } of batches) expect(Math.log2(length) % 1).toBe(0);
    }
    expect([...batchesOf(upTo(300))].map(({ length }) => length)).toEqual([128, 128, 32, 8, 4]);
  });

  it('have lists of 1, 10, 100 or 1 000 keys, padded with the last one', () => {
    for (const [count, size] of [
      [1, 1],
      [2, 10],
      [10, 10],
      [11, 100],
      [100, 100],
      [101, 1_000],
    ] as const) {
      const padded = paddedKeys(upTo(count));
      expect(padded).toHaveLength(size);
      expect(padded.slice(0, count)).toEqual(upTo(count));
      expect(new Set(padded.slice(count - 1))).toEqual(new Set([`${count - 1}`]));
    }
  });

  it('have a row of placeholders for each item', () => {
    expect([placeholders(0, '(?)'), placeholders(1, '(?)'), placeholders(3, '(?)')]).toEqual([
      '',
      '(?)',
      '(?), (?), (?)',
    ]);
  });
});

it.each([
  [10, [4, 4, 2], [4, 4, 2], 10],
  [10, [4, 4], [4, 3], 7],
  [10, [4], [0], 0],
  [3, [3], [3], 3],
  [8, [4, 4], [4, 4], 8],
])('removing up to %i rows asks for %j, gets %j and returns %i', async (limit, asked, removed, total) => {
  const asks: number[] = [];
  const remove = async (most: number) => removed[asks.push(most) - 1]!;
  expect(await removeInSteps(limit, 4, remove)).toBe(total);
  expect(asks).toEqual(asked);
});

describe('races', () => {
  const losing = (times: number, error: () => Error = () => new Raced()) => {
    let attempts = 0;
    const settled = settleRaces(async () => {
      if (++attempts <= times) throw error();
      return attempts;
    });
    return { settled, attempts: () => attempts };
  };

  it('are run again until one is won, up to 50 times', async () => {
    expect(await losing(0).settled).toBe(1);
    expect(await losing(49).settled).toBe(50);
    const lost = losing(50);
    await expect(lost.settled).rejects.toMatchObject({ code: 'OVERLOADED' });
    expect(lost.attempts()).toBe(50);
  });

  it('end with any other error', async () => {
    const failing = losing(1, () => new Error('broken'));
    await expect(failing.settled).rejects.toThrow('broken');
    expect(failing.attempts()).toBe(1);
  });
});
