/** The job index that the script maintains matches core's rule, whatever the fields are. */
import { createClient } from '@redis/client';
import { engineOf, indexKeysOf, type RecordWrite } from '@tidemark/core/engine';
import { assert, asyncProperty, constantFrom, dictionary, oneof, option, string } from 'fast-check';
import { describe, expect, it, onTestFinished } from 'vitest';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

const FIELDS = [
  'state',
  'created_at',
  'run_at',
  'timeout_at',
  'updated_at',
  'priority',
  'claim_id',
  'unannounced',
  'other',
];
const VALUES = oneof(
  constantFrom('pending', 'claimed', 'running', 'completed', 'failed', 'cancelled', 'Pending', ''),
  constantFrom('0', '00', '7', '07', '-1', '-0', '999', '1000', '-1000', '9999', '12345', '1.5', '1e3', ' 1', '1\n'),
  constantFrom('999999999999999', '1000000000000000', 'claim_1', 'a/b', 'x'.repeat(100), 'x'.repeat(101), 'é', 'a\0b'),
  string({ maxLength: 4 }),
);

describe.skipIf(WITHOUT_REDIS)('the job index', () => {
  it('follows every change of a record', async () => {
    const prefix = newPrefix();
    const client = createClient({ url: sharedServer() });
    await client.connect();
    onTestFinished(() => client.destroy());
    const records = engineOf(await openStore(sharedServer(), { prefix, buckets: 1 }))!.kv!;
    const key = 'gbe.state.tasks.mail.job';
    const name = { space: 'kv', tenantId: 'default', key } as const;
    const step = dictionary(constantFrom(...FIELDS), option(VALUES), { minKeys: 1 });
    await assert(
      asyncProperty(step, constantFrom('merge', 'replace'), async (fields, mode) => {
        const set = new Map(
          Object.entries(fields).map(([field, value]) => [field, value === null ? null : Buffer.from(value)]),
        );
        const write: RecordWrite = { name, mode, set };
        const { record } = await records.write(write, {});
        const wanted = record ? indexKeysOf(key, record.fields) : [];
        const stored = await client.zRange(`${prefix}:{b00}:jobs:default`, 0, -1);
        expect(stored).toEqual(wanted.map((indexKey) => `${indexKey}\0${key}`).sort());
      }),
      { numRuns: 300 },
    );
  });
});
