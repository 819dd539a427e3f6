/** The memory journal in a case that the kit cannot test: a restore that is abandoned without a tombstone. */
import { expect, it } from 'vitest';
import { StoreContext } from '../tools/context.ts';
import { memoryJournal } from './journal.ts';

const NAME = { space: 'runs', tenantId: 't', name: 'r' } as const;
const HEAD = { seq: 2, createdAt: 1, updatedAt: 1, state: '', rewrites: 0 };

it.each([
  [null, []],
  ['deleted', ['r']],
])('leaves the tombstone %s of an unfinished restore that is removed', async (tombstone, names) => {
  const journal = memoryJournal(new StoreContext());
  const entries = [{ seq: 1, time: 1, key: 'k', body: '{}' }];
  const known = { seq: 0, tombstone: null };
  const part = { known, tombstone: 'restoring', entries, head: HEAD, isLast: false };
  expect(await journal.restore(NAME, part)).toBe(true);
  expect(await journal.head(NAME)).toMatchObject({ head: { seq: 1 }, tombstone: 'restoring' });
  expect(await journal.remove(NAME, tombstone)).toBe(1);
  expect(await journal.head(NAME)).toEqual({ head: null, tombstone });
  expect(await journal.names('runs', 't', null, 10)).toEqual(names);
  expect(await journal.tenantsOf('runs', 'r')).toEqual([]);
});
