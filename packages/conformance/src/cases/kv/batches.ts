/** Batches: all operations in one step or none, with the condition that did not hold (KV-10). */
import type { KvBatchResult, KvOperation, KvStore } from '@tidemark/core';
import { expect, expectCode, expectEqual } from '../../expect.ts';
import type { Bench, ConformanceCase } from '../../kit.ts';
import { kvCase } from '../define.ts';
import { upTo, whileWorking } from '../iterate.ts';
import { readTexts, textsOf } from './fields.ts';

const BATCH = ['kv.atomicBatch'] as const;
const MOST = 25;
const MAX_BYTES = 1024 * 1024;

/** Keys that engines store apart, such as in different buckets or index pages. */
const KEYS = upTo(8).map((n) => `batch.${n}`);

function unmetOf(result: KvBatchResult) {
  expect(!result.written, 'the batch is refused');
  return result.unmet;
}

function putsOf(fields: Record<string, string>, keys: readonly string[] = KEYS): KvOperation[] {
  return keys.map((key) => ({ op: 'put', key, fields }));
}

async function allTexts(bench: Bench, keys: readonly string[] = KEYS) {
  return Promise.all(keys.map((key) => readTexts(bench.tenant, key)));
}

async function peerKv(bench: Bench): Promise<KvStore> {
  return (await bench.peer()).forTenant(bench.tenantId).kv;
}

export const BATCH_CASES: readonly ConformanceCase[] = [
  kvCase({
    id: 'kv/batch-writes-every-operation',
    title: 'a batch puts, sets, and deletes, and returns the revision and earlier existence of each in its order',
    proves: ['KV-10'],
    needs: BATCH,
    async run(bench) {
      const { kv } = bench.tenant;
      await kv.put('z', { old: '1', kept: 'no' });
      await kv.put('m', { a: '1', b: '2' });
      await kv.put('gone', { a: '1' });
      const result = await kv.batch([
        { op: 'put', key: 'z', fields: { a: 1 } },
        { op: 'setFields', key: 'm', fields: { a: null, c: '3' }, expected: { b: 2, c: null } },
        { op: 'delete', key: 'gone', expected: { a: '1' } },
        { op: 'delete', key: 'never' },
        { op: 'put', key: 'a', fields: { bytes: new Uint8Array([0, 255]) }, expectedRevision: 0 },
        { op: 'setFields', key: 'b', fields: { x: 'y' } },
      ]);
      expect(result.written, 'the batch is written');
      const existed = result.results.map((it) => it.existed);
      expectEqual(existed, [true, true, true, false, false, false], 'results are in the order of the operations');
      const records = await kv.getMany(['z', 'm', 'gone', 'never', 'a', 'b']);
      expectEqual(
        result.results.map(({ revision }) => revision),
        records.map((record) => record?.revision ?? null),
        'each has the revision of its record',
      );
      expectEqual(
        records.map(textsOf).toSpliced(4, 1),
        [{ a: '1' }, { b: '2', c: '3' }, null, null, { x: 'y' }],
        'every operation is applied',
      );
      expectEqual([...records[4]!.fields.bytes!], [0, 255], 'bytes are stored unchanged');
    },
  }),
  kvCase({
    id: 'kv/batch-is-all-or-nothing',
    title: 'if one condition of a batch does not hold, nothing is written, and the result names it with the record',
    proves: ['KV-10', 'KV-3'],
    needs: BATCH,
    async run(bench) {
      const { kv } = bench.tenant;
      await kv.put('here', { state: 'ready' });
      const { revision } = (await kv.get('here'))!;
      const conditions: [KvOperation, string, string | undefined][] = [
        [{ op: 'setFields', key: 'here', fields: { state: 'x' }, expected: { state: 'done' } }, 'expected', 'state'],
        [{ op: 'delete', key: 'here', expected: { state: 'ready', other: 'x' } }, 'expected', 'other'],
        [{ op: 'put', key: 'here', fields: { state: 'x' }, expected: { state: null } }, 'expected', 'state'],
        [{ op: 'put', key: 'here', fields: { state: 'x' }, expectedRevision: 0 }, 'expectedRevision', undefined],
        [{ op: 'delete', key: 'here', expectedRevision: revision + 1 }, 'expectedRevision', undefined],
        [{ op: 'setFields', key: 'none', fields: { a: '1' }, ifExists: true }, 'ifExists', undefined],
        [{ op: 'put', key: 'none', fields: { a: '1' }, expectedRevision: 7 }, 'expectedRevision', undefined],
        [{ op: 'delete', key: 'none', expected: { a: '1' } }, 'expected', 'a'],
      ];
      for (const [operation, condition, field] of conditions) {
        const name = `${operation.op} ${operation.key} with ${condition}`;
        const others = putsOf({ a: 'new' });
        const unmet = unmetOf(await kv.batch([...others.slice(0, 3), operation, ...others.slice(3)]));
        expectEqual(
          [unmet.index, unmet.key, unmet.condition, unmet.field],
          [3, operation.key, condition, field],
          `${name} is named`,
        );
        expectEqual(textsOf(unmet.record), operation.key === 'here' ? { state: 'ready' } : null, 'with the record');
        expectEqual(await readTexts(bench.tenant, 'here'), { state: 'ready' }, `${name} writes nothing itself`);
        expectEqual(
          await allTexts(bench),
          KEYS.map(() => null),
          `${name} keeps all others from being written`,
        );
      }
      const both = await kv.batch([
        { op: 'delete', key: 'z', expectedRevision: 9 },
        { op: 'delete', key: 'a', expectedRevision: 9 },
      ]);
      expectEqual(unmetOf(both).key, 'z', 'of several, the first operation is named');
      expect(
        (await kv.batch([...putsOf({ a: 'new' }), conditions[4]![0]].slice(0, 8))).written,
        'without the unmet condition, all operations are written',
      );
    },
  }),
  kvCase({
    id: 'kv/batch-is-bounded',
    title: 'a batch has 1 to 25 operations with different keys and at most 1 MiB; anything else is rejected unwritten',
    proves: ['KV-10', 'GEN-3'],
    needs: BATCH,
    async run(bench) {
      const { kv } = bench.tenant;
      const keys = upTo(MOST + 1).map((n) => `many.${n}`);
      const wrong: Record<string, readonly unknown[]> = {
        'no operations': [],
        'too many operations': putsOf({ a: '1' }, keys),
        'a repeated key': [...putsOf({ a: '1' }), { op: 'delete', key: KEYS[0]! }],
        'an unknown operation': [...putsOf({ a: '1' }), { op: 'increment', key: 'n' }],
        'a condition with a wrong name': [...putsOf({ a: '1' }), { op: 'delete', key: 'n', revision: 3 }],
        'fields of a delete': [...putsOf({ a: '1' }), { op: 'delete', key: 'n', fields: { a: '1' } }],
        'a put without fields': [...putsOf({ a: '1' }), { op: 'put', key: 'n', fields: {} }],
        'a put that removes a field': [...putsOf({ a: '1' }), { op: 'put', key: 'n', fields: { a: null } }],
        'an invalid key': [...putsOf({ a: '1' }), { op: 'delete', key: '' }],
        'an invalid revision': [...putsOf({ a: '1' }), { op: 'delete', key: 'n', expectedRevision: -1 }],
        'an invalid time to live': [...putsOf({ a: '1' }), { op: 'put', key: 'n', fields: { a: '1' }, ttl: -1 }],
      };
      for (const [what, operations] of Object.entries(wrong)) {
        const call = () => kv.batch(operations as KvOperation[]);
        const { field } = await expectCode('INVALID_ARGUMENT', `${what} is refused`, call);
        expect(field?.startsWith('operations'), `the refusal of ${what} names the operation`);
      }
      const repeated = await expectCode('INVALID_ARGUMENT', 'a repeated key is refused', () =>
        kv.batch(wrong['a repeated key'] as KvOperation[]),
      );
      expectEqual(repeated.field, 'operations[8].key', 'the second use of the key is named');
      const third = Math.floor(MAX_BYTES / 3);
      const large = (bytes: number) => putsOf({ v: 'x'.repeat(bytes) }, KEYS.slice(0, 3));
      await expectCode('PAYLOAD_TOO_LARGE', 'more than 1 MiB is refused', () => kv.batch(large(third)));
      expectEqual(
        await allTexts(bench),
        KEYS.map(() => null),
        'nothing was written',
      );
      expect((await kv.batch(putsOf({ a: '1' }, keys.slice(1)))).written, '25 operations are written');
      expect((await kv.batch(large(third - 16))).written, 'almost 1 MiB is written');
    },
  }),
  kvCase({
    id: 'kv/batch-requests-are-answered-once',
    title: 'a retried batch returns its first result and changes nothing, even if its records have changed since',
    proves: ['KV-10', 'GEN-8'],
    needs: BATCH,
    async run(bench) {
      const [{ kv }, other] = [bench.tenant, await peerKv(bench)];
      await kv.put('there', { state: 'ready' });
      const { revision } = (await kv.get('there'))!;
      const batch = (client = kv, requestId = 'one') =>
        client.batch(
          [
            { op: 'setFields', key: 'there', fields: { state: 'done' }, expectedRevision: revision },
            { op: 'put', key: 'new', fields: { state: 'mine' }, expectedRevision: 0 },
            { op: 'delete', key: 'absent' },
          ],
          { requestId },
        );
      const first = await batch();
      expect(first.written, 'the batch is written');
      expectEqual(await batch(other), first, 'a retry returns the first result though its conditions hold no more');
      await other.delete('new');
      await other.put('there', { state: 'theirs' });
      await other.put('absent', { state: 'theirs' });
      expectEqual(await batch(), first, 'a retry returns the first result even after others changed the records');
      expectEqual(
        await allTexts(bench, ['there', 'new', 'absent']),
        [{ state: 'theirs' }, null, { state: 'theirs' }],
        'nothing is written again, and what was absent then is not deleted now',
      );
      expect(!(await batch(kv, 'two')).written, 'another request is new');
      await kv.put('k', { n: 'a' });
      await kv.setField('k', 'n', 'b', { requestId: 'shared' });
      const operations: KvOperation[] = [{ op: 'setFields', key: 'k', fields: { n: 'c' } }];
      expect((await kv.batch(operations, { requestId: 'shared' })).written, 'ids of keys are not ids of batches');
      expectEqual(await readTexts(bench.tenant, 'k'), { n: 'c' }, 'the batch is applied');
      const stranger = bench.store.forTenant(bench.id('tenant'));
      await stranger.kv.batch(operations, { requestId: 'shared' });
      expectEqual(await readTexts(stranger, 'k'), { n: 'c' }, 'the same id is a new request in another tenant');
      const refused = () => kv.batch([{ op: 'delete', key: 'k', expected: { n: 'x' } }], { requestId: 'three' });
      expect(!(await refused()).written, 'a batch is refused');
      await kv.put('k', { n: 'x' });
      expect((await refused()).written, 'a refusal is not remembered: the batch can be retried until it is written');
    },
  }),
  kvCase({
    id: 'kv/batch-retries-at-once',
    title: 'of concurrent retries of one batch, one is applied and all return its result',
    proves: ['KV-10', 'GEN-8'],
    needs: BATCH,
    async run(bench) {
      const clients = [bench.tenant.kv, await peerKv(bench)];
      for (const round of upTo(4)) {
        const keys = KEYS.map((key) => `${key}.${round}`);
        // Half of the records exist: engines lock those, but not absent ones.
        for (const key of keys.slice(4)) await clients[0]!.put(key, { n: '0' });
        const results = await Promise.all(
          upTo(6).map((n) =>
            clients[n % 2]!.batch(putsOf({ n: '1' }, n % 3 ? keys : keys.toReversed()), { requestId: `r${round}` }),
          ),
        );
        const revisions = results.map((result, n) => {
          expect(result.written, 'every retry returns that it was written');
          const found = result.results.map(({ revision }) => revision);
          return (n + 1) % 3 ? found : found.toReversed();
        });
        const stored = (await clients[0]!.getMany(keys)).map((record) => record!.revision);
        expectEqual(revisions[0], stored, 'the result has the stored revisions: the batch was applied once');
      }
    },
  }),
  kvCase({
    id: 'kv/batch-keeps-record-rules',
    title: 'operations of a batch treat times to live, expired records, jobs and tenants as single writes do',
    proves: ['KV-10', 'KV-2', 'KV-7', 'GEN-10'],
    needs: BATCH,
    async run(bench) {
      const { kv, jobs } = bench.tenant;
      for (const key of ['replaced', 'kept', 'cleared', 'renewed']) await kv.put(key, { a: '1' }, { ttl: '1h' });
      await kv.put('expired', { a: '1' }, { ttl: 40 });
      await bench.pass(40);
      const result = await kv.batch([
        { op: 'put', key: 'replaced', fields: { a: '2' } },
        { op: 'setFields', key: 'kept', fields: { a: '2' } },
        { op: 'setFields', key: 'cleared', fields: { a: '2' }, ttl: null },
        { op: 'setFields', key: 'renewed', fields: { a: '2' }, ttl: '2h' },
        { op: 'setFields', key: 'expired', fields: { b: '2' }, expectedRevision: 0 },
        { op: 'put', key: 'brief', fields: { a: '2' }, ttl: 40 },
      ]);
      expect(result.written, 'an expired record counts as absent');
      const ttls = (await kv.getMany(['replaced', 'kept', 'cleared', 'renewed'])).map((record) => record?.ttl ?? 0);
      const hours = ttls.map((ttl) => Math.round(ttl / 3_600_000));
      expectEqual(hours, [0, 1, 0, 2], 'times to live are cleared, kept, removed and renewed');
      expectEqual(await readTexts(bench.tenant, 'expired'), { b: '2' }, 'nothing of the expired record is left');
      await bench.pass(40);
      expectEqual(await kv.get('brief'), null, 'a record of a batch expires');
      const stranger = bench.store.forTenant(bench.id('tenant'));
      expectEqual(await stranger.kv.get('kept'), null, 'another tenant has none of it');
      if (!bench.store.info.capabilities.jobs) return;
      const job = { taskType: 'batched', taskId: 'job' };
      await jobs.enqueue(job);
      await kv.batch([{ op: 'setFields', key: 'gbe.state.tasks.batched.job', fields: { state: 'cancelled' } }]);
      const listed = async (state: 'pending' | 'cancelled') =>
        (await jobs.list(state, { taskType: 'batched' })).items.map(({ taskId }) => taskId);
      expectEqual([await listed('pending'), await listed('cancelled')], [[], ['job']], 'the index of jobs follows');
    },
  }),
  kvCase({
    id: 'kv/batches-side-by-side',
    title: 'concurrent batches over the same keys in opposite order, and single writes, never interleave and all end',
    proves: ['KV-10', 'GEN-3'],
    needs: BATCH,
    async run(bench) {
      const clients = [bench.tenant.kv, await peerKv(bench)];
      const accounts = KEYS.slice(0, 5);
      await clients[0]!.batch(putsOf({ balance: '100' }, accounts));
      const transfer = async (kv: KvStore, keys: readonly string[], salt: number) => {
        for (let moved = 0, tries = 0; moved < 6 && tries < 400; tries++) {
          const [from, to] = [keys[(tries + salt) % keys.length]!, keys[(tries + salt + 1) % keys.length]!];
          const [ours, theirs] = (await kv.getMany([from, to])).map((record) => Number(textsOf(record)!.balance));
          const result = await kv.batch([
            { op: 'setFields', key: from, expected: { balance: ours! }, fields: { balance: ours! - 1 } },
            { op: 'put', key: to, expected: { balance: theirs! }, fields: { balance: theirs! + 1 } },
            // A record that is constantly created and removed, because engines cannot lock absent rows.
            ...(moved % 2
              ? [{ op: 'delete' as const, key: 'ledger' }]
              : [{ op: 'put' as const, key: 'ledger', fields: { by: salt } }]),
          ]);
          if (result.written) moved++;
        }
      };
      const transfers = Promise.all([
        transfer(clients[0]!, accounts, 0),
        transfer(clients[1]!, accounts.toReversed(), 1),
        transfer(clients[1]!, accounts, 2),
      ]);
      let n = 0;
      await whileWorking(transfers, async () => {
        await clients[0]!.setField(accounts[n++ % accounts.length]!, 'seen', n);
      });
      const balances = (await allTexts(bench, accounts)).map((fields) => Number(fields!.balance));
      expectEqual(
        balances.reduce((sum, balance) => sum + balance, 0),
        500,
        'no transfer was half applied',
      );
    },
  }),
  kvCase({
    id: 'kv/batch-is-never-seen-in-part',
    title: 'a reader who has seen one record of a batch sees all of them',
    proves: ['KV-10'],
    needs: BATCH,
    async run(bench) {
      const [writer, reader] = [bench.tenant.kv, await peerKv(bench)];
      await writer.batch(putsOf({ n: '0' }));
      const write = async () => {
        for (const n of upTo(25)) await writer.batch(putsOf({ n: String(n) }, n % 2 ? KEYS : KEYS.toReversed()));
      };
      let keys = KEYS;
      await whileWorking(write(), async () => {
        keys = keys.toReversed();
        let least = 0;
        for (const key of keys) {
          const n = Number(textsOf(await reader.get(key))!.n);
          expect(n >= least, `${key} is not older than a record that was read before it`);
          least = n;
        }
      });
    },
  }),
];
