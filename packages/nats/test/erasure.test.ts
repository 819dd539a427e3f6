/** Inspects every subject and message without the store after an erasure. */
import { setTimeout as sleep } from 'node:timers/promises';
import type { Store } from '@tidemark/core';
import { describe, expect, it, onTestFinished } from 'vitest';
import { contentsOf, FILLED, fillTenant } from '../../../faults/tenant-contents.ts';
import { startKind } from '../../../scripts/servers/index.ts';
import { natsOf } from '../../../scripts/servers/nats-versions.ts';
import { STREAM_KINDS, streamName } from '../src/streams/streams.ts';
import { askServer, WITHOUT_NATS } from './servers.ts';
import { newStreams, openStore, runEvent } from './stores.ts';

/** One login may do everything, the other may not purge. */
const PURGE_DENIED = `
  accounts: { APP: { jetstream: enabled, users: [
    { user: admin, password: admin },
    { user: confined, password: confined, permissions: { publish: { deny: ["$JS.API.STREAM.PURGE.>"] } } }
  ] } }
  no_auth_user: admin`;

interface Answer {
  message?: { subject: string; hdrs?: string; data?: string };
}

/** Returns the subjects of messages that contain a string. */
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
  it('leaves the tenant in no subject, header or body, and keeps other tenants intact', {
    timeout: 120_000,
  }, async () => {
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

  it('removes long ids too, of which subjects contain only the hash', { timeout: 60_000 }, async () => {
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
  const ORDER = { by: 'dpo', reason: 'request 1' };
  const SECRET = 'a secret of theirs';
  const large = { n: SECRET.repeat(25_000) };
  const numbered = { tenantId: 'default', limit: 1_000 };

  /** Stores four events with the secret, three of them in one commit that is too large for one message. */
  async function newRun(store: Store): Promise<void> {
    await store.runs.appendEvent(runEvent('r', 'small', { n: SECRET }));
    await store.runs.appendEvents(['a', 'b', 'c'].map((key) => runEvent('r', key, large)));
    await store.runs.appendEvent(runEvent('r', 'harmless'));
  }

  it('leaves the payload in no message, whole or in parts, and every client can still use the run', async () => {
    const { url, prefix } = newStreams();
    const [store, other] = [await openStore({ url, prefix }), await openStore({ url, prefix })];
    await newRun(store);
    await other.runs.appendEvent(runEvent('r', 'of the other'));
    expect((await messagesWith(url, prefix, SECRET)).length).toBeGreaterThan(1);
    for (const runSeq of [1, 2, 3, 4]) expect(await store.runs.redactEvent('r', runSeq, ORDER)).toBe(true);
    expect(await messagesWith(url, prefix, SECRET)).toEqual([]);
    expect((await other.runs.appendEvent(runEvent('r', 'small', { n: SECRET }))).idempotent).toBe(true);
    expect((await other.runs.appendEvent(runEvent('r', 'after'))).runSeq).toBe(7);
    for (const client of [store, other]) {
      const events = await Array.fromAsync(client.runs.readEvents('r', numbered));
      expect(events.map(({ redacted }) => redacted?.by)).toEqual([
        'dpo',
        'dpo',
        'dpo',
        'dpo',
        undefined,
        undefined,
        undefined,
      ]);
      expect(await client.runs.verify('r', { tenantId: 'default' })).toMatchObject({ ok: true, events: 7 });
      expect((await client.runs.listRuns()).items.map(({ lastEventSeq }) => lastEventSeq)).toEqual([7]);
    }
  });

  it('fails with an unknown outcome if it could not remove the replaced commits, and a retry completes it', {
    timeout: 60_000,
  }, async () => {
    const kind = await natsOf('installed', () => PURGE_DENIED);
    const server = await startKind(kind);
    onTestFinished(() => server.stop());
    const login = (user: string) => server.url.replace('://', `://${user}:${user}@`);
    const confined = await openStore({ url: login('confined') });
    await newRun(confined);
    const cutShort = confined.runs.redactEvent('r', 2, ORDER);
    await expect(cutShort).rejects.toMatchObject({ code: 'OUTCOME_UNKNOWN' });
    expect((await confined.runs.appendEvent(runEvent('r', 'meanwhile'))).runSeq).toBe(6);
    expect((await messagesWith(login('admin'), 'tidemark', SECRET)).length).toBeGreaterThan(1);
    const admin = await openStore({ url: login('admin') });
    expect(await admin.runs.verify('r', { tenantId: 'default' })).toMatchObject({ ok: true, events: 6 });
    for (const runSeq of [2, 1, 3, 4]) expect(await admin.runs.redactEvent('r', runSeq, ORDER)).toBe(true);
    expect(await messagesWith(login('admin'), 'tidemark', SECRET)).toEqual([]);
    expect(await confined.runs.verify('r', { tenantId: 'default' })).toMatchObject({ ok: true, events: 6 });
  });

  it("' succeeds while another process writes, and loses nothing from either", async () => {
    const { url, prefix } = newStreams();
    const [store, other] = [await openStore({ url, prefix }), await openStore({ url, prefix })];
    for (const key of ['a', 'b', 'c']) await store.runs.appendEvent(runEvent('r', key, { n: SECRET }));
    let [written, isWriting] = [3, true];
    const writing = (async () => {
      for (; isWriting; written++) {
        await other.runs.appendEvent(runEvent('r', `other-${written}`));
        await sleep(50);
      }
    })();
    const options = { ...ORDER, timeoutMs: 30_000 };
    for (const runSeq of [1, 2, 3]) expect(await store.runs.redactEvent('r', runSeq, options)).toBe(true);
    isWriting = false;
    await writing;
    expect(written).toBeGreaterThan(3);
    expect(await messagesWith(url, prefix, SECRET)).toEqual([]);
    expect(await store.runs.verify('r', { tenantId: 'default' })).toMatchObject({ ok: true, events: written });
  });

  it('rejects a run that is too long for one message, and names the limit', { timeout: 60_000 }, async () => {
    const store = await openStore(newStreams());
    const payload = { text: 'x'.repeat(500_000) };
    for (let at = 0; at < 35; at++) await store.runs.appendEvent(runEvent('long', `key-${at}`, payload));
    await expect(store.runs.redactEvent('long', 1, ORDER)).rejects.toMatchObject({
      code: 'UNSUPPORTED',
      field: 'runId',
    });
    expect(await store.runs.verify('long', { tenantId: 'default' })).toMatchObject({ ok: true, events: 35 });
  });
});
