/**
 * A tenant's admin cannot restore a run that would stop the operator's feed, and large runs are exported and restored
 * in small lines.
 */
import { httpStore } from '@tidemark/client';
import { memoryStore, type PayloadCodec, type RunPart } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { runEvent } from './running.ts';
import { startSecured } from './security-setup.ts';

const LIMIT_MS = 120_000;

const FORGING: PayloadCodec = {
  encrypts: false,
  formOf: () => 'forged',
  encode: (payload) => ({ ...payload, steps: ['forged'] }),
  decode: (payload) => ({ ...payload, steps: [] }),
};

/** Returns the lines of a run whose payloads look encoded. */
async function forgedRun(): Promise<string> {
  const elsewhere = memoryStore({ codec: FORGING });
  onTestFinished(() => elsewhere.close());
  await elsewhere.runs.appendEvent({ ...runEvent('forged'), tenantId: 'acme' });
  const parts: RunPart[] = [];
  for await (const part of elsewhere.runs.exportRun('forged', { tenantId: 'acme' })) parts.push(part);
  return parts.map((part) => `${JSON.stringify(part)}\n`).join('');
}

describe('restores over HTTP', () => {
  it('keep the feed readable, even with keepEncoded', { timeout: LIMIT_MS }, async () => {
    const { url, keyFor, store } = await startSecured();
    const [admin, operator] = [await keyFor({ tenantId: 'acme' }), await keyFor()];
    const body = await forgedRun();
    const restore = (headers: Record<string, string>, query = '') =>
      fetch(`${url}/v1/restores${query}`, {
        method: 'POST',
        body,
        headers: { ...headers, 'content-type': 'application/x-ndjson' },
      });
    for (const query of ['', '?keepEncoded=true']) {
      const refused = await restore(admin, query);
      expect(refused.status).toBe(422);
      expect(await refused.json()).toMatchObject({ code: 'INVALID_PAYLOAD', field: 'payload' });
    }
    expect((await restore(operator)).status).toBe(422);
    await store.runs.appendEvent(runEvent('run'));
    const feed = await fetch(`${url}/v1/events?tenantId=default`, { headers: operator });
    expect(feed.status).toBe(200);
    expect(((await feed.json()) as { items: unknown[] }).items).toHaveLength(1);
    expect((await restore(operator, '?keepEncoded=true')).status).toBe(200);
  });

  it('accept a run whose exported lines would exceed the line limit', { timeout: LIMIT_MS }, async () => {
    const { url, keyFor, store } = await startSecured();
    const headers = await keyFor();
    const payload = { text: 'é"\\'.repeat(60_000) };
    for (let n = 0; n < 60; n++) await store.runs.appendEvent(runEvent('large', undefined, payload));
    const exported = await (await fetch(`${url}/v1/runs/large/export`, { headers })).text();
    const lines = exported.trim().split('\n');
    expect(exported.length).toBeGreaterThan(16 * 1024 * 1024);
    expect(Math.max(...lines.map((line) => Buffer.byteLength(line)))).toBeLessThan(16 * 1024 * 1024);
    await store.runs.archiveRun('large', { location: 'here', expectedSeq: 60 });
    const client = await httpStore({ url, token: headers.authorization!.slice('Bearer '.length) });
    onTestFinished(() => client.close());
    // As one part, as older versions exported it.
    const parts = lines.map((line) => JSON.parse(line) as RunPart);
    const whole = { ...parts.at(-1)!, events: parts.flatMap(({ events }) => events) };
    expect(await client.runs.restoreRun([whole], { timeoutMs: 60_000 })).toMatchObject({
      restored: true,
      lastEventSeq: 60,
    });
    expect((await store.runs.verify('large')).ok).toBe(true);
  });
});
