/** Batches and sealed fields over HTTP: the server's store has the codec, and the caller only names the fields. */
import { randomBytes } from 'node:crypto';
import { join } from 'node:path';
import { encryption, textOf } from '@tidemark/core';
import { withCodec } from '@tidemark/core/engine';
import { sqliteStore } from '@tidemark/sqlite';
import { describe, expect, it } from 'vitest';
import { newFolder, send, startServer } from './running.ts';
import { startSecured } from './security-setup.ts';

const codecOf = (current = 'k') => encryption({ keys: { [current]: randomBytes(32) }, current });

async function startSealing() {
  const plain = await sqliteStore(join(newFolder(), 'store.db'));
  const { client, url } = await startServer({ store: withCodec(plain, codecOf())! });
  return { client: client.forTenant('acme'), url, plain: plain.forTenant('acme') };
}

describe('sealed fields over HTTP', () => {
  it('are encrypted by the server on every write and read as written', async () => {
    const { client, plain, url } = await startSealing();
    const { kv } = client;
    await kv.put('put', { token: 'secret', plain: 'p' }, { sealed: ['token'] });
    await kv.setField('field', 'token', 'secret', { sealed: true });
    await kv.setFields('fields', { token: 'secret' }, { sealed: true });
    await kv.compareAndSwap('cas', 'token', null, 'secret', { sealed: true });
    await kv.swap('swap', { expectedRevision: 0, set: { token: 'secret' }, sealed: true });
    await kv.batch([{ op: 'put', key: 'batch', fields: { token: 'secret' }, sealed: ['token'] }]);
    await send(
      `${url}/v1/kv/absent?tenant=acme`,
      'PUT',
      { fields: { token: 'secret' }, sealed: true },
      { 'if-none-match': '*' },
    );
    for (const key of ['put', 'field', 'fields', 'cas', 'swap', 'batch', 'absent']) {
      const record = await kv.get(key);
      expect([textOf(record?.fields.token), record?.sealed], key).toEqual(['secret', ['token']]);
      expect(textOf(await kv.getField(key, 'token')), key).toBe('secret');
      await expect(plain.kv.get(key), key).rejects.toMatchObject({ code: 'CODEC_FAILED', keyId: 'k' });
    }
    const page = await kv.scanPage('');
    expect(page.items.every(({ record }) => textOf(record.fields.token) === 'secret')).toBe(true);
  });

  it('are rejected in conditions, with the field and the rule', async () => {
    const { kv } = (await startSealing()).client;
    await kv.put('k', { token: 'secret' }, { sealed: true });
    const swap = kv.swap('k', { expected: { token: 'secret' }, set: { a: '1' } });
    await expect(swap).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'expected.token' });
    const batch = kv.batch([{ op: 'delete', key: 'k', expected: { token: 'secret' } }]);
    await expect(batch).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'operations[0].expected.token' });
  });

  it('are rejected by a server without a codec', async () => {
    const { client } = await startServer();
    const call = client.kv.put('k', { token: 'secret' }, { sealed: true });
    await expect(call).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'sealed' });
    expect(await client.kv.get('k')).toBeNull();
  });
});

describe('a batch over HTTP', () => {
  it('needs kv:delete for a delete, and writes nothing without it', async () => {
    const { url, store, keyFor } = await startSecured();
    const writer = await keyFor({ scopes: ['kv:write'], tenantId: 'acme' });
    const put = { op: 'put', key: 'a', fields: { n: 1 } };
    const refused = await send(`${url}/v1/kv-batch`, 'POST', { operations: [put, { op: 'delete', key: 'b' }] }, writer);
    expect([refused.status, await refused.json()]).toMatchObject([403, { code: 'FORBIDDEN', rule: 'kv:delete' }]);
    expect(await store.forTenant('acme').kv.get('a')).toBeNull();
    const written = await send(`${url}/v1/kv-batch`, 'POST', { operations: [put] }, writer);
    expect([written.status, await written.json()]).toMatchObject([200, { written: true }]);
    const both = await keyFor({ scopes: ['kv:write', 'kv:delete'], tenantId: 'acme' });
    const deleted = await send(`${url}/v1/kv-batch`, 'POST', { operations: [{ op: 'delete', key: 'a' }] }, both);
    expect([deleted.status, await deleted.json()]).toMatchObject([
      200,
      { results: [{ revision: null, existed: true }] },
    ]);
  });

  it('rejects a condition with a wrong name instead of ignoring it', async () => {
    const { url, store } = await startServer();
    const operations = [{ op: 'put', key: 'a', fields: { n: 1 }, revision: 7 }];
    const refused = await send(`${url}/v1/kv-batch`, 'POST', { operations });
    expect([refused.status, await refused.json()]).toMatchObject([400, { field: 'operations[0].revision' }]);
    expect(await store.kv.get('a')).toBeNull();
  });
});
