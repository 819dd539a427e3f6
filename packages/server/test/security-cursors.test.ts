/** Feed cursors reveal nothing about the events of other tenants, and work on every server of the store. */
import { httpStore } from '@tidemark/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { ApiKeys, bearer, createServer } from '../src/index.ts';
import { readUntil, runEvent } from './running.ts';
import { type Secured, startSecured } from './security-setup.ts';

interface Page {
  items: { cursor: string; event: { runSeq: number } }[];
  next?: string;
}

const eventOf = (tenantId: string) => ({ ...runEvent('r'), tenantId });

async function fill({ store }: Secured, others: number): Promise<void> {
  await store.runs.appendEvent(eventOf('acme'));
  for (let n = 0; n < others; n++) await store.runs.appendEvent(eventOf('other'));
  await store.runs.appendEvent(eventOf('acme'));
}

async function pageOf(url: string, headers: Record<string, string>, query = ''): Promise<Page> {
  const answer = await fetch(`${url}/v1/events${query}`, { headers });
  expect(answer.status).toBe(200);
  return (await answer.json()) as Page;
}

describe('cursors of a check', () => {
  it('cannot be forged to read another tenant', async () => {
    const { url, store, keyFor } = await startSecured();
    for (const tenantId of ['acme', 'other']) await store.forTenant(tenantId).kv.put('key', { text: tenantId });
    const statusFor = async (tenantId: string) => {
      const cursor = Buffer.from(JSON.stringify(['other', 'kv', null])).toString('base64url');
      const headers = await keyFor({ tenantId, scopes: ['admin'] });
      return (await fetch(`${url}/v1/admin/check?cursor=${cursor}`, { headers })).status;
    };
    expect([await statusFor('other'), await statusFor('acme')]).toEqual([200, 400]);
  });
});

describe('cursors of a tenant', () => {
  it('contain no position and keep their length while others store events', async () => {
    const secured = await startSecured();
    await fill(secured, 120);
    const raw = (await secured.store.runs.feedPage({ filter: { tenantId: 'acme' } })).items.map(({ cursor }) => cursor);
    const headers = await secured.keyFor({ tenantId: 'acme', scopes: ['read'] });
    const { items } = await pageOf(secured.url, headers);
    expect(items).toHaveLength(2);
    const cursors = items.map(({ cursor }) => cursor);
    expect(new Set(cursors.map(({ length }) => length)).size).toBe(1);
    for (const cursor of cursors) {
      const bytes = Buffer.from(cursor.slice(3), 'base64url');
      for (const one of raw) expect(bytes.includes(one) || cursor.includes(one)).toBe(false);
    }
    expect((await pageOf(secured.url, headers)).items, 'the same each time').toEqual(items);
  });

  it('continue from page to page, in streams, and on another server of the store', async () => {
    const secured = await startSecured();
    await fill(secured, 5);
    const headers = await secured.keyFor({ tenantId: 'acme', scopes: ['read'] });
    const first = await pageOf(secured.url, headers, '?limit=1');
    const auth = bearer({ keys: new ApiKeys(secured.store) });
    const another = createServer({ store: secured.store, auth, inspector: false });
    const url = await another.listen();
    onTestFinished(() => another.close());
    const after = first.items[0]!.cursor;
    const second = await pageOf(url, headers, `?cursor=${after}`);
    expect(second.items.map(({ event }) => event.runSeq)).toEqual([2]);
    for (const path of ['/v1/events', '/v1/events?limit=1']) {
      const live = await fetch(url + path, {
        headers: { ...headers, accept: 'text/event-stream', 'last-event-id': after },
      });
      const text = await readUntil(live.body!, 'caught-up');
      expect([...text.matchAll(/"runSeq":(\d+)/g)].map(([, seq]) => seq)).toEqual(['2']);
      await live.body!.cancel();
    }
  });

  it('work for the client, whose feed yields every event once', async () => {
    const secured = await startSecured();
    await fill(secured, 3);
    const { key } = await secured.keys.create({ name: 'n', tenantId: 'acme', scopes: ['read'] }, { by: 'a test' });
    const client = await httpStore({ url: secured.url, token: key });
    onTestFinished(() => client.close());
    const seen: number[] = [];
    const stop = new AbortController();
    for await (const { event } of client.runs.feed({ signal: stop.signal })) {
      seen.push(event.runSeq);
      if (seen.length === 2) await secured.store.runs.appendEvent(eventOf('acme'));
      if (seen.length === 3) stop.abort();
    }
    expect(seen).toEqual([1, 2, 3]);
  });

  it('of another tenant, of the store itself or made up are rejected', async () => {
    const secured = await startSecured();
    await fill(secured, 3);
    const [own, other] = await Promise.all(
      ['acme', 'other'].map((tenantId) => secured.keyFor({ tenantId, scopes: ['read'] })),
    );
    const foreign = (await pageOf(secured.url, other!)).items[0]!.cursor;
    const raw = (await secured.store.runs.feedPage()).items[0]!.cursor;
    for (const after of [foreign, raw, 'c1.', 'c1.AAAA', `${foreign}A`, 'x'])
      expect((await fetch(`${secured.url}/v1/events?cursor=${after}`, { headers: own! })).status, after).toBe(400);
    const operator = await secured.keyFor({ scopes: ['read'] });
    expect(
      (await pageOf(secured.url, operator, `?cursor=${raw}`)).items.length,
      'operators have those',
    ).toBeGreaterThan(3);
  });

  it('from version 0.1 are accepted if the server is configured to', async () => {
    const secured = await startSecured({ acceptsOldCursors: true });
    await fill(secured, 3);
    const raw = (await secured.store.runs.feedPage()).items[0]!.cursor;
    const headers = await secured.keyFor({ tenantId: 'acme', scopes: ['read'] });
    expect((await pageOf(secured.url, headers, `?cursor=${raw}`)).items).toHaveLength(1);
  });
});
