/** The copy that a redaction makes of a log: it expires while it is incomplete, and stays once it is the log. */
import { createClient } from '@redis/client';
import { expect, it, onTestFinished } from 'vitest';
import { runEvent } from '../../../faults/run-event.ts';
import { Layout } from '../src/layout.ts';
import { REWRITE } from '../src/scripts.ts';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

const BUCKETS = 16;
const LIFE_MS = 600_000;
const PERSISTENT = -1;

it.skipIf(WITHOUT_REDIS)('keeps an incomplete copy for a limited time, and the complete one for good', async () => {
  const prefix = newPrefix();
  const store = await openStore(sharedServer(), { prefix });
  await store.runs.appendEvents(['1', '2', '3', '4', '5'].map((n) => runEvent('r', n)));
  const client = createClient({ url: sharedServer() });
  await client.connect();
  onTestFinished(() => client.destroy());
  const { head, log } = new Layout(prefix, BUCKETS).journal({ space: 'runs', tenantId: 'default', name: 'r' });
  const third = (await client.xRange(log, '3-0', '3-0'))![0]!;
  const copy = `${log}:copy-test`;
  /** Copies two entries after a sequence, with another body in the third. */
  const copyAfter = (seq: string) => {
    const body = String(Object.values(third.message).at(-1));
    const args = ['0', seq, '2', '3', body, body.replace('3', '!'), String(LIFE_MS)];
    return client.eval(REWRITE.text, { keys: [head, log, copy], arguments: args });
  };
  expect(await copyAfter('0')).toBe('2');
  const left = await client.pTTL(copy);
  expect(left).toBeGreaterThan(0);
  expect(left).toBeLessThanOrEqual(LIFE_MS);
  await client.pExpire(copy, LIFE_MS / 2);
  expect(await copyAfter('2')).toBe('4');
  expect(await client.pTTL(copy), 'a later page does not renew it').toBeLessThanOrEqual(LIFE_MS / 2);
  expect(await copyAfter('4')).toBe('done');
  expect([await client.exists(copy), await client.pTTL(log), await client.xLen(log)]).toEqual([0, PERSISTENT, 5]);
});
