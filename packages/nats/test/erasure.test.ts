/** What is left in the streams after an erasure: every subject and message is looked at without our store. */
import { describe, expect, it } from 'vitest';
import { contentsOf, FILLED, fillTenant } from '../../../faults/tenant-contents.ts';
import { STREAM_KINDS, streamName } from '../src/streams.ts';
import { askServer, WITHOUT_NATS } from './servers.ts';
import { newStreams, openStore } from './stores.ts';

interface Answer {
  message?: { subject: string; hdrs?: string; data?: string };
}

/** Subjects of messages in which a text stands. */
async function messagesWith(url: string, prefix: string, text: string): Promise<string[]> {
  const found: string[] = [];
  for (const kind of STREAM_KINDS) {
    const name = streamName(prefix, kind);
    const { state } = await askServer<{ state: { first_seq: number; last_seq: number } }>(url, `STREAM.INFO.${name}`);
    for (let seq = state.first_seq; seq <= state.last_seq; seq++) {
      const { message } = await askServer<Answer>(url, `STREAM.MSG.GET.${name}`, { seq });
      if (!message) continue;
      const whole = [message.hdrs, message.data].map((part) => Buffer.from(part ?? '', 'base64').toString());
      if ([message.subject, ...whole].join(' ').includes(text)) found.push(message.subject);
    }
  }
  return found;
}

describe.skipIf(WITHOUT_NATS)('eraseTenant', () => {
  it('leaves the tenant in no subject, header or body, and its neighbour whole', { timeout: 120_000 }, async () => {
    const { url, prefix } = newStreams();
    const store = await openStore({ url, prefix });
    const other = await openStore({ url, prefix });
    await fillTenant(store, 'neighbour');
    const before = await contentsOf(store, 'neighbour');
    await fillTenant(store, 'doomed');
    await contentsOf(other, 'doomed');
    expect((await messagesWith(url, prefix, 'doomed')).length).toBeGreaterThan(30);
    const { removed } = await store.admin.eraseTenant('doomed');
    expect(removed).toMatchObject(FILLED);
    expect(await messagesWith(url, prefix, 'doomed')).toEqual([]);
    expect(await contentsOf(store, 'neighbour')).toEqual(before);
    for (const client of [store, other]) {
      expect((await client.admin.listTenants()).items).toEqual(['neighbour']);
      expect((await client.forTenant('doomed').kv.scanPage('')).items).toEqual([]);
      expect((await client.forTenant('doomed').runs.listRuns()).items).toEqual([]);
    }
  });

  it('takes long ids away too, which subjects only have the hash of', { timeout: 60_000 }, async () => {
    const { url, prefix } = newStreams();
    const store = await openStore({ url, prefix });
    const tenantId = `doomed ${'é'.repeat(250)}`;
    await store.forTenant(tenantId).kv.put(`key ${'ü'.repeat(250)}`, { a: '1' });
    await store
      .forTenant(tenantId)
      .runs.handle(`run ${'ä'.repeat(250)}`)
      .append('RunStarted');
    expect((await store.admin.listTenants()).items).toEqual([tenantId]);
    expect((await store.admin.eraseTenant(tenantId)).removed).toEqual({ runs: 1, kv: 1 });
    expect(await messagesWith(url, prefix, 'doomed')).toEqual([]);
  });
});

describe.skipIf(WITHOUT_NATS)('redactEvent', () => {
  it('is refused before anything is looked at: a message cannot be replaced (GEN-7)', async () => {
    const store = await openStore(newStreams());
    expect(store.info.capabilities['runs.redaction']).toBe(false);
    const redacting = store.runs.redactEvent('none', 1, { by: 'dpo', reason: 'request 1' });
    await expect(redacting).rejects.toMatchObject({ code: 'UNSUPPORTED', field: 'runs.redaction' });
  });
});
