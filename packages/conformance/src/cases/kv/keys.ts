/** Keys and field names with special characters: two different names never collide (GEN-5, KV-6). */
import { expectCode, expectEqual } from '../../expect.ts';
import type { ConformanceCase } from '../../kit.ts';
import { kvCase } from '../define.ts';
import { HOSTILE_IDS, INVALID_IDS, MAX_IDS } from '../poison.ts';
import { readTexts, scanKeys } from './fields.ts';

export const KEY_CASES: readonly ConformanceCase[] = [
  kvCase({
    id: 'kv/hostile-keys-never-meet',
    title: 'keys are compared by bytes and scans return them as they were written',
    proves: ['GEN-5', 'KV-6'],
    async run(bench) {
      for (const key of HOSTILE_IDS) await bench.tenant.kv.put(key, { key });
      for (const key of HOSTILE_IDS)
        expectEqual(await readTexts(bench.tenant, key), { key }, `${JSON.stringify(key)} has its own record`);
      expectEqual(
        (await scanKeys(bench.tenant, '')).sort(),
        [...HOSTILE_IDS].sort(),
        'each is scanned once, by its exact key',
      );
      for (const key of HOSTILE_IDS.filter((_, at) => at % 2 === 0)) await bench.tenant.kv.delete(key);
      const rest = HOSTILE_IDS.filter((_, at) => at % 2 === 1);
      expectEqual((await scanKeys(bench.tenant, '')).sort(), rest.toSorted(), 'deleting one key leaves similar keys');
    },
  }),
  kvCase({
    id: 'kv/hostile-fields-never-meet',
    title: 'field names are compared by bytes, __proto__ included',
    proves: ['GEN-5', 'KV-1'],
    async run(bench) {
      const fields = Object.fromEntries(HOSTILE_IDS.map((name) => [name, name]));
      await bench.tenant.kv.put('k', fields);
      const record = await bench.tenant.kv.get('k');
      expectEqual(
        Object.keys(record!.fields).sort(),
        [...HOSTILE_IDS].sort(),
        'every field is stored under its own name',
      );
      for (const name of HOSTILE_IDS) {
        const value = await bench.tenant.kv.getField('k', name);
        expectEqual(value && Buffer.from(value).toString(), name, `field ${JSON.stringify(name)} has its own value`);
      }
      expectEqual(
        await bench.tenant.kv.compareAndSwap('k', '__proto__', '__proto__', 'swapped'),
        true,
        'the field can be swapped',
      );
      await bench.tenant.kv.setField('k', 'constructor', 'set');
      expectEqual(
        Buffer.from((await bench.tenant.kv.getField('k', 'constructor'))!).toString(),
        'set',
        'the field can be set',
      );
    },
  }),
  kvCase({
    id: 'kv/key-lengths',
    title: 'keys and fields of 512 bytes are accepted, and longer, empty or malformed ones are rejected',
    proves: ['GEN-5', 'GEN-1'],
    async run(bench) {
      for (const id of MAX_IDS) {
        await bench.tenant.kv.put(id, { [id]: 'v' });
        expectEqual(await readTexts(bench.tenant, id), { [id]: 'v' }, 'the longest key and field are returned');
        expectEqual(await scanKeys(bench.tenant, id), [id], 'the longest key works as a prefix');
      }
      for (const [name, value] of INVALID_IDS) {
        const id = value as string;
        const calls: [string, () => Promise<unknown>][] = [
          ['get', () => bench.tenant.kv.get(id)],
          ['put', () => bench.tenant.kv.put(id, { a: '1' })],
          ['delete', () => bench.tenant.kv.delete(id)],
          ['getMany', () => bench.tenant.kv.getMany(['ok', id])],
          ['setField', () => bench.tenant.kv.setField('k', id, '1')],
          ['compareAndSwap', () => bench.tenant.kv.compareAndSwap(id, 'f', null, '1')],
          ['getField', () => bench.tenant.kv.getField('k', id)],
        ];
        for (const [method, call] of calls)
          await expectCode('INVALID_ARGUMENT', `${method} refuses an id that is ${name}`, call);
      }
      for (const field of ['', 'a\0', '\ud800', 'x'.repeat(513)]) {
        await expectCode('INVALID_ARGUMENT', 'a field name obeys the rules of ids', () =>
          bench.tenant.kv.put('k', { [field]: '1' }),
        );
      }
      expectEqual(await bench.tenant.kv.get('k'), null, 'nothing was written');
    },
  }),
];
