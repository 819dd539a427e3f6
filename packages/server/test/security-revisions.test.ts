/** Revisions reveal nothing about the writes of other tenants, and conditions on them still work. */
import { httpStore } from '@tidemark/client';
import { type Store, textOf } from '@tidemark/core';
import { expect, it, onTestFinished } from 'vitest';
import { ApiKeys, bearer, createServer } from '../src/index.ts';
import { type Secured, startSecured } from './security-setup.ts';

const SCOPES = ['read', 'append'] as const;

async function clientOf({ url, keys }: Pick<Secured, 'url' | 'keys'>, tenantId: string): Promise<Store> {
  const { key } = await keys.create({ name: 'n', tenantId, scopes: [...SCOPES] }, { by: 'a test' });
  const client = await httpStore({ url, token: key });
  onTestFinished(() => client.close());
  return client;
}

async function writesOf(store: Store, count: number): Promise<void> {
  for (let n = 0; n < count; n++) await store.forTenant('other').kv.setField('busy', 'n', n);
}

it('the distance of two revisions does not depend on the writes of others', async () => {
  const secured = await startSecured();
  const { kv } = await clientOf(secured, 'acme');
  const distances: number[] = [];
  for (let round = 0; round < 40; round++) {
    const first = await kv.setField('mine', 'n', 2 * round);
    await writesOf(secured.store, round % 2 === 0 ? 0 : 20);
    const second = await kv.setField('mine', 'n', 2 * round + 1);
    distances.push(second.revision! - first.revision!);
  }
  const [quiet, busy] = [0, 1].map((odd) => distances.filter((_, at) => at % 2 === odd));
  for (const half of [quiet!, busy!]) {
    expect(half.some((it) => it > 0) && half.some((it) => it < 0), 'both directions occur').toBe(true);
    // The true distances are 1 and 21. Of 52 random bits, such a distance would have a chance of one in 10¹⁰.
    expect(Math.min(...half.map(Math.abs))).toBeGreaterThan(100_000);
  }
});

it('every call shows a record with the same revision, on every server of the store', async () => {
  const secured = await startSecured();
  const { kv, jobs } = await clientOf(secured, 'acme');
  const another = createServer({
    store: secured.store,
    auth: bearer({ keys: new ApiKeys(secured.store) }),
    inspector: false,
  });
  const url = await another.listen();
  onTestFinished(() => another.close());
  const there = await clientOf({ url, keys: secured.keys }, 'acme');
  const stop = new AbortController();
  const changes = kv.watch('k', { signal: stop.signal })[Symbol.asyncIterator]();
  const change = changes.next();
  await expect.poll(async () => (await kv.put('k', { a: '1' })) && Promise.race([change, null])).not.toBe(null);
  const { revision } = (await kv.get('k'))!;
  let seen = (await change).value!.record?.revision;
  while (seen !== revision) seen = (await changes.next()).value!.record?.revision;
  stop.abort();
  const raw = (await secured.store.forTenant('acme').kv.get('k'))!.revision;
  expect(revision).not.toBe(raw);
  expect([
    (await there.kv.get('k'))!.revision,
    (await kv.getMany(['missing', 'k']))[1]!.revision,
    (await kv.scanPage('')).items[0]!.record.revision,
    (await kv.swap('k', { expected: { a: 'wrong' }, set: { a: '2' } })).record!.revision,
  ]).toEqual(Array.from({ length: 4 }, () => revision));
  const { job } = await jobs.enqueue({ taskType: 't', taskId: '1' });
  const stored = (await secured.store.forTenant('acme').jobs.get(job))!.revision;
  expect(job.revision).not.toBe(stored);
  expect((await there.jobs.list('pending')).items[0]!.revision).toBe(job.revision);
});

it('conditions on a revision hold and fail as they do without a server', async () => {
  const secured = await startSecured();
  const { kv, jobs } = await clientOf(secured, 'acme');
  const made = await kv.swap('k', { expectedRevision: 0, set: { a: '1' } });
  expect(made.swapped).toBe(true);
  expect((await kv.swap('k', { expectedRevision: 0, set: { a: '2' } })).swapped).toBe(false);
  const first = made.record!.revision;
  const second = await kv.swap('k', { expectedRevision: first, set: { a: '2' } });
  expect([second.swapped, second.record!.revision === first]).toEqual([true, false]);
  expect((await kv.swap('k', { expectedRevision: first, set: { a: '3' } })).swapped).toBe(false);
  const batch = await kv.batch([
    { op: 'setFields', key: 'k', fields: { a: '4' }, expectedRevision: second.record!.revision },
  ]);
  expect(batch).toMatchObject({ written: true, results: [{ revision: (await kv.get('k'))!.revision }] });
  const unmet = await kv.batch([{ op: 'delete', key: 'k', expectedRevision: first }]);
  expect(unmet).toMatchObject({ written: false, unmet: { record: { revision: (await kv.get('k'))!.revision } } });
  // A field that has the name of a condition is data.
  await kv.put('k', { expectedRevision: 7, revision: 8 });
  expect(textOf((await kv.get('k'))!.fields.revision)).toBe('8');
  expect(textOf(await kv.getField('k', 'expectedRevision'))).toBe('7');

  await jobs.enqueue({ taskType: 't', taskId: '1' });
  await jobs.claim({ taskType: 't' }, { worker: 'w', lease: 1 });
  await expect.poll(() => jobs.overdue('t', { threshold: '1h' })).toHaveLength(1);
  const [overdue] = await jobs.overdue('t', { threshold: '1h' });
  expect(await jobs.recover(overdue!)).toMatchObject({ job: { state: 'pending', retryCount: 1 } });
});

it('the tag of a record is its revision, and If-Match takes it', async () => {
  const secured = await startSecured();
  const headers = { ...(await secured.keyFor({ tenantId: 'acme' })), 'content-type': 'application/json' };
  const record = `${secured.url}/v1/kv/k`;
  const change = (more: object, value: string) =>
    fetch(record, {
      method: 'PATCH',
      headers: { ...headers, ...more },
      body: JSON.stringify({ fields: { a: { text: value } } }),
    });
  expect((await change({}, '1')).status).toBe(200);
  const found = await fetch(record, { headers });
  const tag = found.headers.get('etag')!;
  expect(tag).toBe(`"${((await found.json()) as { revision: number }).revision}"`);
  expect((await change({ 'if-match': tag }, '2')).status).toBe(200);
  expect((await change({ 'if-match': tag }, '3')).status).toBe(412);
});

it('a server with auth declares that revisions are not ordered; operators and tenants see it', async () => {
  const secured = await startSecured();
  const { info } = await clientOf(secured, 'acme');
  const operator = await fetch(`${secured.url}/v1/info`, { headers: await secured.keyFor() });
  const { capabilities } = (await operator.json()) as { capabilities: Record<string, boolean> };
  expect([info.capabilities['kv.orderedRevisions'], capabilities['kv.orderedRevisions']]).toEqual([false, false]);
  expect(secured.store.info.capabilities['kv.orderedRevisions']).toBe(true);
});
