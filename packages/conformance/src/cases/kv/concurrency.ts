/** Many clients on the same records: no lost update, one winner, scans that neither skip nor repeat (KV-3, KV-4). */
import { numberOf } from '@tidemark/core';
import { expect, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { kvCase } from '../define.ts';
import { upTo, whileWorking } from '../iterate.ts';
import { readTexts } from './fields.ts';

async function clientsOf(bench: Bench) {
  return [bench.tenant.kv, (await bench.peer()).forTenant(bench.tenantId).kv] as const;
}

export const CONCURRENCY_CASES: readonly ConformanceCase[] = [
  kvCase({
    id: 'kv/one-claim-wins',
    title: 'of concurrent workers that claim a job exactly one wins',
    proves: ['003 Worker claiming', '003 compare_and_swap', 'KV-3'],
    async run(bench) {
      const clients = await clientsOf(bench);
      for (let round = 0; round < 5; round++) {
        const key = `job-${round}`;
        await bench.tenant.kv.put(key, { state: 'pending' });
        const claims = await Promise.all(
          upTo(10).map((n) => clients[n % 2]!.compareAndSwap(key, 'state', 'pending', `claimed-${n}`)),
        );
        expectEqual(claims.filter(Boolean).length, 1, 'exactly one claim returns true');
        const winner = claims.indexOf(true) + 1;
        expectEqual(await readTexts(bench.tenant, key), { state: `claimed-${winner}` }, 'the winner’s value is stored');
      }
    },
  }),
  kvCase({
    id: 'kv/one-creation-wins',
    title: 'of concurrent writers that create a record exactly one wins, by field or by revision',
    proves: ['KV-3'],
    async run(bench) {
      const clients = await clientsOf(bench);
      const byField = await Promise.all(upTo(8).map((n) => clients[n % 2]!.compareAndSwap('a', 'owner', null, n)));
      expectEqual(byField.filter(Boolean).length, 1, 'one finds the field absent');
      const byRevision = await Promise.all(
        upTo(8).map((n) => clients[n % 2]!.swap('b', { expectedRevision: 0, set: { owner: n } })),
      );
      expectEqual(byRevision.filter((it) => it.swapped).length, 1, 'one finds no record');
    },
  }),
  kvCase({
    id: 'kv/counter-loses-no-update',
    title: 'a counter incremented by compare-and-swap from many clients loses no update',
    proves: ['KV-3', '003 compare_and_swap'],
    async run(bench) {
      const clients = await clientsOf(bench);
      await bench.tenant.kv.put('counter', { n: 0 });
      const seen = new Set<number>();
      const raise = async (kv: (typeof clients)[number]) => {
        for (let done = 0; done < 8; ) {
          const now = numberOf(await kv.getField('counter', 'n'))!;
          if (!(await kv.compareAndSwap('counter', 'n', now, now + 1))) continue;
          expect(!seen.has(now), `the value ${now} was swapped once`);
          seen.add(now);
          done++;
        }
      };
      await Promise.all(upTo(5).map((n) => raise(clients[n % 2]!)));
      expectEqual(await readTexts(bench.tenant, 'counter'), { n: '40' }, 'forty rounds raise it by forty');
    },
  }),
  kvCase({
    id: 'kv/field-writes-do-not-lose-each-other',
    title: 'concurrent writes to different fields of one record are all kept',
    proves: ['003 set_field', 'KV-2'],
    async run(bench) {
      const clients = await clientsOf(bench);
      await Promise.all(upTo(20).map((n) => clients[n % 2]!.setField('k', `f${n}`, n)));
      const fields = await readTexts(bench.tenant, 'k');
      expectEqual(Object.keys(fields ?? {}).length, 20, 'no field was lost to a read-modify-write');
    },
  }),
  kvCase({
    id: 'kv/put-is-atomic',
    title: 'concurrent readers see either whole record, never a mixture',
    proves: ['KV-2', '003 put'],
    async run(bench) {
      const clients = await clientsOf(bench);
      const whole = (n: number) => ({ a: n, b: n, [`only${n % 3}`]: n });
      await bench.tenant.kv.put('k', whole(0));
      const writer = async (kv: (typeof clients)[number], salt: number) => {
        for (let n = salt; n <= 30; n += 2) await kv.put('k', whole(n));
      };
      await whileWorking(Promise.all([writer(clients[0], 1), writer(clients[1], 2)]), async () => {
        const record = await readTexts(bench.tenant, 'k');
        expect(record, 'the record exists all the time');
        const expected = Object.entries(whole(Number(record.a))).map(([name, value]) => [name, String(value)]);
        expectEqual(record, Object.fromEntries(expected), 'a read returns the record of one put');
      });
    },
  }),
  kvCase({
    id: 'kv/paging-beside-writers',
    title: 'paging while others write returns every remaining record exactly once, in order',
    proves: ['KV-4'],
    async run(bench) {
      const clients = await clientsOf(bench);
      const keys = upTo(40).map((n) => `k${String(n).padStart(3, '0')}`);
      await Promise.all(keys.map((key) => bench.tenant.kv.put(key, { v: '0' })));
      let paging = true;
      const seen: string[] = [];
      const writer = async (kv: (typeof clients)[number], salt: number) => {
        for (let n = 0; paging; n++) {
          const passing = `k${String((n * 7 + salt) % 40).padStart(3, '0')}~${salt}`;
          await kv.put(passing, { v: '1' });
          await kv.setField(keys[(n * 3) % 40]!, 'v', n);
          await kv.delete(passing);
          await new Promise(setImmediate);
        }
      };
      const reader = async () => {
        let cursor: string | undefined;
        do {
          const page = await bench.tenant.kv.scanPage('k', { limit: 3, ...(cursor === undefined ? {} : { cursor }) });
          seen.push(...page.items.map((it) => it.key));
          cursor = page.next;
          await new Promise(setImmediate);
        } while (cursor !== undefined);
      };
      const read = reader().finally(() => {
        paging = false;
      });
      await Promise.all([read, writer(clients[0], 1), writer(clients[1], 2)]);
      expectEqual(new Set(seen).size, seen.length, 'no key was repeated');
      expectEqual(seen, seen.toSorted(), 'keys were in order');
      expectEqual(
        seen.filter((it) => !it.includes('~')),
        keys,
        'every record that stayed was returned',
      );
    },
  }),
];
