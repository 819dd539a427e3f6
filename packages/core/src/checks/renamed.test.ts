/** Conditions with their names from version 0.1 are refused before anything is written. */
import { expect, it } from 'vitest';
import type { Store } from '../contracts/store.ts';
import { memoryStore } from '../memory/store.ts';

const CALLS: [name: string, field: string, call: (store: Store) => Promise<unknown>][] = [
  ['deleteRun', 'atSeq', ({ runs }) => runs.deleteRun('r', { atSeq: 7 } as never)],
  [
    'archiveRun',
    'rewrites',
    ({ runs }) => runs.archiveRun('r', { location: 'x', expectedSeq: 1, rewrites: 9 } as never),
  ],
  ['feedPage', 'after', ({ runs }) => runs.feedPage({ after: 'x' } as never)],
  ['feed', 'after', async ({ runs }) => Array.fromAsync(runs.feed({ after: 'x' } as never))],
  ['swap', 'revision', ({ kv }) => kv.swap('k', { revision: 99, set: { a: '2' } } as never)],
  ['swap', 'expect', ({ kv }) => kv.swap('k', { expect: { a: '9' }, set: { a: '2' } } as never)],
  ['saveMemoryState', 'ifVersion', ({ agents }) => agents.saveMemoryState('m', { n: 2 }, { ifVersion: 9 } as never)],
  ['deleteMemoryState', 'ifVersion', ({ agents }) => agents.deleteMemoryState('m', { ifVersion: 9 } as never)],
];

it.each(CALLS)('%s rejects %s', async (_, field, call) => {
  const store = memoryStore();
  await store.runs.handle('r').append('RunStarted');
  await store.kv.put('k', { a: '1' });
  await store.agents.saveMemoryState('m', { n: 1 });
  await expect(call(store)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field });
  expect(await store.runs.headSeq('r')).toBe(1);
  expect(await store.kv.getField('k', 'a')).toEqual(new Uint8Array([0x31]));
  expect(await store.agents.loadMemoryState('m')).toEqual({ n: 1 });
});
