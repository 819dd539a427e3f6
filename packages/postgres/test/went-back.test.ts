/** Events that a superuser removed together with the head: the process that saw them reports the loss. */
import type { StoreAlert } from '@tidemark/core';
import { postgresStore } from '@tidemark/postgres';
import { Client } from 'pg';
import { afterEach, expect, test } from 'vitest';
import { offeredUrl } from '../../../scripts/servers/index.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});

test('a cut tail is reported by the process that wrote it', async () => {
  const schema = `back_${crypto.randomUUID().slice(0, 8)}`;
  const alerts: StoreAlert[] = [];
  const url = offeredUrl('postgres')!;
  const store = await postgresStore({ url, schema, onAlert: (alert) => void alerts.push(alert) });
  closing.push(() => store.close());
  for (let at = 0; at < 5; at++) await store.runs.handle('r').append('Progress', { at });
  await store.runs.refreshSnapshot('r');
  const client = new Client(url);
  await client.connect();
  closing.push(() => client.end());
  await client.query(`SET session_replication_role = replica; SET search_path = ${schema}`);
  await client.query('DELETE FROM run_events WHERE run_seq > 3');
  await client.query(
    'UPDATE runs SET last_seq = 3, link = (SELECT link FROM run_events WHERE run_seq = 3), updated_at = (SELECT persisted_at FROM run_events WHERE run_seq = 3)',
  );
  await store.runs.handle('r').append('Progress', { at: 3 });
  const loss = { code: 'HEAD_WENT_BACK', severity: 'P1', tenantId: 'default', runId: 'r', knownSeq: 5, currentSeq: 4 };
  await expect.poll(() => alerts).toEqual([loss]);
  expect((await store.runs.refreshSnapshot('r')).snapshot.lastEventSeq).toBe(4);
  expect(await store.runs.verify('r')).toMatchObject({ ok: true, events: 4 });
  expect(alerts).toHaveLength(1);
});
