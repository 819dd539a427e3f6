/** Damage: only the changed record fails, and it is never returned as valid (KV-12). */
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { kvCase } from '../define.ts';
import { readTexts } from './fields.ts';

const KEYS = ['damage.a', 'damage.b', 'damage.c'];
const DAMAGED = 'damage.b';

/** Stores three records and damages the middle one. Returns false if the kit cannot reach below the store. */
async function damageOne(bench: Bench): Promise<boolean> {
  for (const key of KEYS) await bench.tenant.kv.put(key, { text: `stored in ${key}`, count: 7 });
  return bench.damage(DAMAGED, 'text');
}

export const DAMAGE_CASES: readonly ConformanceCase[] = [
  kvCase({
    id: 'kv/damaged-records-are-refused',
    title: 'every read of a record that was damaged in storage fails with CORRUPT_VALUE until it is stored again',
    proves: ['KV-12'],
    async run(bench) {
      if (!(await damageOne(bench))) return;
      const { kv } = bench.tenant;
      const error = await expectCode('CORRUPT_VALUE', 'get refuses it', () => kv.get(DAMAGED));
      expectEqual(error.field, DAMAGED, 'the error names the key');
      await expectCode('CORRUPT_VALUE', 'getField refuses it', () => kv.getField(DAMAGED, 'text'));
      await kv.put(DAMAGED, { text: 'stored again' });
      expectEqual(await readTexts(bench.tenant, DAMAGED), { text: 'stored again' }, 'a put repairs it');
    },
  }),
  kvCase({
    id: 'kv/damage-stays-where-it-is',
    title: 'a damaged record does not affect reads and scans of others, and pages list its key',
    proves: ['KV-12'],
    async run(bench) {
      if (!(await damageOne(bench))) return;
      const { kv } = bench.tenant;
      const others = KEYS.filter((key) => key !== DAMAGED);
      for (const key of others)
        expectEqual((await readTexts(bench.tenant, key))?.text, `stored in ${key}`, 'other records are read as before');
      const page = await kv.scanPage('damage.');
      expectEqual(
        page.items.map(({ key }) => key),
        others,
        'a page has all other records',
      );
      expectEqual(page.damaged, [DAMAGED], 'the page names the damaged record');
      const seen: string[] = [];
      await expectCode('CORRUPT_VALUE', 'a scan fails, but only after all other records', async () => {
        for await (const { key } of kv.scan('damage.')) seen.push(key);
      });
      expectEqual(seen, others, 'a scan yields all other records first');
      const { damaged } = await bench.tenant.admin.check({ limit: 1_000 }).then(async (first) => {
        let page = first;
        const found = [...page.damaged];
        while (page.next !== undefined) {
          page = await bench.tenant.admin.check({ limit: 1_000, cursor: page.next });
          found.push(...page.damaged);
        }
        return { damaged: found };
      });
      expect(
        damaged.some(({ part, name }) => part === 'kv' && name === DAMAGED),
        'the check of the whole store names it',
      );
    },
  }),
];
