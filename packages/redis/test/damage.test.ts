/**
 * The stored stream of a run is changed without the store: its run is quarantined, and everything else continues
 * (RUN-20).
 */
import { createClient, RESP_TYPES } from '@redis/client';
import type { StoreAlert } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkDamage, fillRuns, SICK } from '../../../faults/damage-check.ts';
import { Layout } from '../src/layout.ts';
import { newPrefix, openStore, sharedServer, WITHOUT_REDIS } from './servers.ts';

const BUCKETS = 2;
const BODY = 5;

describe.skipIf(WITHOUT_REDIS)('an entry changed without the store', () => {
  it.each<[string, (body: string) => string]>([
    ['payload', (body) => body.replace('"n":3', '"n":4')],
    ['link', (body) => body.replace(/"[\w+/]{43}="/, `"${Buffer.alloc(32).toString('base64')}"`)],
    ['envelope', (body) => body.slice(0, 10)],
  ])('in its %s affects only its run', async (_, change) => {
    const prefix = newPrefix();
    const alerts: StoreAlert[] = [];
    const store = await openStore(sharedServer(), { prefix, buckets: BUCKETS, onAlert: (alert) => alerts.push(alert) });
    const client = await createClient({ url: sharedServer() }).connect();
    onTestFinished(() => client.close());
    await fillRuns(store);
    const { log } = new Layout(prefix, BUCKETS).journal({ space: 'runs', tenantId: SICK.tenantId, name: SICK.runId });
    const raw = client.withTypeMapping({ [RESP_TYPES.BLOB_STRING]: Buffer });
    const entries = (await raw.sendCommand(['XRANGE', log, '-', '+'])) as unknown as [Buffer, Buffer[]][];
    /** Entries of a stream cannot be changed, so the stream is written again. */
    const rewrite = async (seen: (id: string, body: string) => string) => {
      await client.del(log);
      for (const [id, fields] of entries) {
        const texts = fields.map((field) => field.toString());
        texts[BODY] = seen(id.toString(), texts[BODY]!);
        await client.sendCommand(['XADD', log, id.toString(), ...texts]);
      }
    };
    const problems = await checkDamage(store, {
      alerts,
      damage: () => rewrite((id, body) => (id === '3-0' ? change(body) : body)),
      repair: () => rewrite((_id, body) => body),
    });
    expect(problems).toEqual([]);
    expect(alerts).toMatchObject([{ code: 'RUN_QUARANTINED', runId: 'sick', fromSeq: 3 }]);
  });
});
