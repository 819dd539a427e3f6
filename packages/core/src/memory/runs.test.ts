/** Records written in the commit of their events, while other writers change the same records. */
import { expect, it } from 'vitest';
import type { SameCommitWrites } from '../engine/runs.ts';
import { numberOf } from '../kv/values.ts';
import { withRuns } from '../store.ts';
import { fieldsOf, numberField } from '../tools/record-fields.ts';
import { memoryStore } from './store.ts';

const NAME = { space: 'kv', tenantId: 'default', key: 'state' } as const;

it('decides again if another writer changed a record after it was read', async () => {
  const plain = memoryStore();
  const seen: number[] = [];
  const sameCommit: SameCommitWrites = {
    names: [NAME],
    writes: async (_, [found]) => {
      const n = found ? numberField(found, 'n') : 0;
      seen.push(n);
      // Another writer is faster, once.
      if (n === 0) await plain.kv.put(NAME.key, { n: 7 });
      return [{ name: NAME, mode: 'replace', set: fieldsOf({ n: n + 1 }), expect: { revision: found?.revision ?? 0 } }];
    },
  };
  const store = withRuns(plain, (engine) => ({
    append: (appends, call) =>
      engine.append(
        appends.map((append) => ({ ...append, sameCommit })),
        call,
      ),
  }))!;
  expect(await store.runs.handle('r').append('Said')).toMatchObject({ runSeq: 1 });
  expect(seen).toEqual([0, 7]);
  expect(numberOf((await plain.kv.get(NAME.key))!.fields.n)).toBe(8);
  expect(await plain.runs.headSeq('r')).toBe(1);
});
