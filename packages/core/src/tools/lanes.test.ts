import { describe, expect, it } from 'vitest';
import { Lanes, sharedCall } from './lanes.ts';

function recording() {
  const commits: { name: string; operations: readonly number[] }[] = [];
  const held = new Map<string, Promise<void>>();
  const lanes = new Lanes<string, number, string>({ idOf: (name) => name, maxGroup: 2 }, async (name, operations) => {
    commits.push({ name, operations });
    await held.get(name);
    return operations.map((it) => (it < 0 ? new Error(`refused ${it}`) : `${name}${it}`));
  });
  return { commits, held, lanes };
}

describe('Lanes', () => {
  it('groups concurrent calls of one name into commits of at most maxGroup', async () => {
    const { commits, held, lanes } = recording();
    const { promise, resolve } = Promise.withResolvers<void>();
    held.set('a', promise);
    const first = lanes.submit('a', 1, {});
    await expect.poll(() => commits.length).toBe(1);
    const later = [2, 3, 4].map((it) => lanes.submit('a', it, {}));
    resolve();
    expect(await Promise.all([first, ...later])).toEqual(['a1', 'a2', 'a3', 'a4']);
    expect(commits.map(({ operations }) => operations)).toEqual([[1], [2, 3], [4]]);
  });

  it('does not block one name on another', async () => {
    const { held, lanes } = recording();
    const { promise, resolve } = Promise.withResolvers<void>();
    held.set('slow', promise);
    const slow = lanes.submit('slow', 1, {});
    expect(await lanes.submit('fast', 1, {})).toBe('fast1');
    resolve();
    expect(await slow).toBe('slow1');
  });

  it('rejects only the rejected operation, and continues', async () => {
    const { lanes } = recording();
    const outcomes = await Promise.allSettled([lanes.submit('a', -1, {}), lanes.submit('a', 1, {})]);
    expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'fulfilled']);
    expect(await lanes.submit('a', 2, {})).toBe('a2');
  });
});

describe('sharedCall', () => {
  it('has the latest deadline, no deadline when one call has none, and no signal', () => {
    const { signal } = new AbortController();
    expect(sharedCall([{ call: { deadline: 5, signal } }, { call: { deadline: 9 } }])).toEqual({ deadline: 9 });
    expect(sharedCall([{ call: { deadline: 5 } }, { call: {} }]).deadline).toBe(Number.POSITIVE_INFINITY);
  });
});
