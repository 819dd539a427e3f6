/** The stored commit of a run is changed without the store: its run is quarantined, and everything else continues (RUN-20). */
import type { StoreAlert } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { checkDamage, DAMAGED_SEQ, fillRuns, SICK } from '../../../faults/damage-check.ts';
import { Client } from '../src/client.ts';
import { dynamodbStore } from '../src/index.ts';
import { commitKey, headKey, partitionOf, readHead } from '../src/journal/head.ts';
import { keyOf } from '../src/keys.ts';
import { readSettings } from '../src/options.ts';
import { ownTables, WITHOUT_DYNAMODB } from './servers.ts';

const RUN = { space: 'runs', tenantId: SICK.tenantId, name: SICK.runId } as const;

describe.skipIf(WITHOUT_DYNAMODB)('a commit changed without the store', () => {
  it.each<[string, (body: string) => string]>([
    ['payload', (body) => body.replace('"n":3', '"n":4')],
    ['link', (body) => body.replace(/"[\w+/]{43}="/, `"${Buffer.alloc(32).toString('base64')}"`)],
    ['end', (body) => body.slice(0, -10)],
  ])('in its %s affects only its run', async (_, change) => {
    const options = ownTables();
    const alerts: StoreAlert[] = [];
    const store = await dynamodbStore({ ...options, timeoutMs: 30_000, onAlert: (alert) => alerts.push(alert) });
    const client = await Client.open(readSettings(options));
    onTestFinished(() => store.close().finally(() => client.close()));
    await fillRuns(store);
    const { live } = readHead(await client.get('log', headKey(RUN), {}));
    const item = (await client.get('log', keyOf(partitionOf(RUN), commitKey(live!.life, DAMAGED_SEQ)), {}))!;
    const stored = Buffer.from(item.b!.B!).toString('latin1');
    const changed = change(stored);
    expect(changed).not.toBe(stored);
    const replace = (body: string) => client.putAll('log', [{ ...item, b: { B: Buffer.from(body, 'latin1') } }], {});
    const problems = await checkDamage(store, {
      alerts,
      damage: () => replace(changed),
      repair: () => replace(stored),
    });
    expect(problems).toEqual([]);
    expect(alerts).toMatchObject([{ code: 'RUN_QUARANTINED', runId: 'sick', fromSeq: 3 }]);
  });
});
