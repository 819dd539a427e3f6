/** Records in SQL beyond the kit: the number of statements per step, and the changes that another process sees. */
import type { KvChange, Store } from '@tidemark/core';
import { sqlRecords } from '@tidemark/sql';
import { afterEach, describe, expect, it } from 'vitest';
import { keyRange } from '../src/ranges.ts';
import { eachTest, openTestStore, type TestFile, type TestStore } from './database.ts';

let file: TestFile;
let store: TestStore;
let other: TestStore;

eachTest((opened, onFile) => {
  [file, store, other] = [opened, onFile, openTestStore(opened)];
});

afterEach(() => other.close());

async function statementsOf(work: () => Promise<unknown>): Promise<string[]> {
  store.database.statements.length = 0;
  await work();
  return [...store.database.statements];
}

describe('steps', () => {
  it('take four statements for a field or a swap, and two for a swap that fails', async () => {
    await store.kv.put('key', { state: 'a', n: 1 });
    expect(await statementsOf(() => store.kv.setField('key', 'n', 2))).toHaveLength(4);
    expect(await statementsOf(() => store.kv.compareAndSwap('key', 'state', 'a', 'b'))).toHaveLength(4);
    // The second one reads the field: a condition on a sealed field is refused instead of answered with false.
    expect(await statementsOf(() => store.kv.compareAndSwap('key', 'state', 'a', 'b'))).toHaveLength(2);
  });

  it('do not read the fields for a plain put', async () => {
    await store.kv.put('key', { state: 'a', n: 1 });
    const statements = await statementsOf(() => store.kv.put('key', { state: 'b', n: 2 }));
    expect(statements).toHaveLength(5);
    expect(statements.filter((sql) => /SELECT[\s\S]*kv_fields/.test(sql))).toEqual([]);
  });

  it('never reuse a revision of a key, not even after the record was removed (KV-1)', async () => {
    const seen: (number | null)[] = [];
    for (let round = 0; round < 3; round++) {
      seen.push((await store.kv.put('key', { a: round }, { ttl: 100 })).revision);
      file.advance(100);
      await sqlRecords(store.database, { wait: async () => {} }).removeExpired(10, {});
      seen.push((await other.kv.put('key', { a: round })).revision);
      await store.kv.delete('key');
    }
    expect(new Set(seen).size).toBe(seen.length);
    expect(seen).toEqual([...seen].sort((a, b) => a! - b!));
  });

  it('do not carry data of an expired record over to the record that replaces it (KV-2)', async () => {
    await store.kv.put('key', { old: 1 }, { ttl: 100 });
    file.advance(100);
    await store.kv.setField('key', 'new', 2);
    expect(Object.keys((await store.kv.get('key'))!.fields)).toEqual(['new']);
    expect(store.database.handle.prepare('SELECT field FROM kv_fields').all()).toEqual([{ field: 'new' }]);
  });

  it('remove expired records with their fields, up to a limit', async () => {
    for (let n = 0; n < 250; n++) await store.kv.put(`key-${n}`, { a: n }, { ttl: 100 });
    await store.kv.put('kept', { a: 1 });
    file.advance(100);
    const records = sqlRecords(store.database, { wait: async () => {} });
    expect(await records.removeExpired(240, {})).toBe(240);
    expect(await records.removeExpired(1_000, {})).toBe(10);
    expect(store.database.handle.prepare('SELECT key FROM kv_fields').all()).toEqual([{ key: 'kept' }]);
  });
});

describe('an erasure', () => {
  it('removes the request ids of a tenant that has no record left, and of no other tenant', async () => {
    const records = sqlRecords(store.database, { wait: async () => {} });
    const left = () => store.database.handle.prepare('SELECT tenant_id FROM requests').all();
    for (const tenantId of ['acme', 'other']) {
      const { kv } = store.forTenant(tenantId);
      await kv.put('key', { n: 1 }, { requestId: 'put' });
      await kv.delete('key', { requestId: 'delete' });
    }
    expect(left().length).toBeGreaterThanOrEqual(2);
    expect(await records.erase('kv', 'acme', 10, {})).toEqual([]);
    expect(new Set(left().map((it) => it.tenant_id))).toEqual(new Set(['other']));
  });

  it('removes a limited number of records with their fields and index keys', async () => {
    const records = sqlRecords(store.database, { wait: async () => {} });
    const { kv, jobs } = store.forTenant('acme');
    for (let n = 0; n < 3; n++) await kv.put(`key-${n}`, { n });
    await jobs.enqueue({ taskType: 'mail', taskId: 'one' });
    const first = await records.erase('kv', 'acme', 2, {});
    expect(first).toHaveLength(2);
    const rest = await records.erase('kv', 'acme', 10, {});
    expect(new Set([...first, ...rest]).size).toBe(first.length + rest.length);
    expect(await records.erase('kv', 'acme', 10, {})).toEqual([]);
    for (const table of ['kv_records', 'kv_fields', 'kv_places'])
      expect(store.database.handle.prepare(`SELECT key FROM ${table}`).all(), table).toEqual([]);
  });
});

describe('request ids', () => {
  const kept = () => store.database.handle.prepare('SELECT count(*) AS count FROM requests').get()!.count;
  const clean = () => sqlRecords(store.database, { wait: async () => {} }).removeExpired(1_000, {});
  const write = (n: number) => store.kv.setField('key', 'n', n, { requestId: `r${n}` });

  it('cost one more statement, and nothing when absent', async () => {
    await store.kv.put('key', { n: 0 });
    expect(await statementsOf(() => store.kv.setField('key', 'n', 1))).toHaveLength(4);
    expect(await statementsOf(() => write(2))).toHaveLength(5);
    await store.kv.delete('key');
    expect(await statementsOf(() => store.kv.put('key', { n: 1 }))).toHaveLength(4);
  });

  it('stay in the record until newer ones push them out, then move to a table', async () => {
    for (let n = 0; n < 16; n++) await write(n);
    expect(kept()).toBe(0);
    await write(16);
    expect(kept()).toBe(1);
    await store.kv.delete('key');
    expect(kept()).toBe(17);
  });

  it('are kept when a cleaner removes their record, until five minutes after its expiry', async () => {
    await store.kv.put('key', { a: 1 }, { ttl: 1_000, requestId: 'put' });
    file.advance(1_000);
    await clean();
    expect([kept(), await store.kv.get('key')]).toEqual([1, null]);
    file.advance(240_000);
    await clean();
    expect((await other.kv.put('key', { a: 2 }, { requestId: 'put' })).revision).toBeNull();
    file.advance(60_000);
    await clean();
    expect(kept()).toBe(0);
  });

  it('are erased with the records of their tenant, and other tenants keep theirs', async () => {
    for (const tenantId of ['gone', 'kept']) {
      const { kv } = store.forTenant(tenantId);
      for (const key of ['a', 'b']) await kv.put(key, { n: 1 }, { requestId: 'r' });
      await kv.delete('a');
    }
    const records = sqlRecords(store.database, { wait: async () => {} });
    expect(await records.erase('kv', 'gone', 10, {})).toEqual(['b']);
    expect(await records.erase('kv', 'gone', 10, {})).toEqual([]);
    const tenants = store.database.handle.prepare('SELECT tenant_id FROM requests').all();
    expect(tenants).toEqual([{ tenant_id: 'kept' }]);
  });

  it('of an expired record that was not removed yet carry over to the record that replaces it', async () => {
    await store.kv.put('key', { a: 1 }, { ttl: 1_000, requestId: 'put' });
    file.advance(1_000);
    await store.kv.setField('key', 'a', 2);
    await store.kv.put('key', { a: 1 }, { requestId: 'put' });
    expect(Buffer.from((await store.kv.get('key'))!.fields.a!).toString()).toBe('2');
  });
});

describe('watch', () => {
  /** Collects the changes that a watcher reports. */
  function listen(to: Store, prefix: string): { seen: KvChange[]; stop: () => void } {
    const controller = new AbortController();
    const seen: KvChange[] = [];
    void (async () => {
      for await (const change of to.kv.watch(prefix, { signal: controller.signal })) seen.push(change);
    })();
    return { seen, stop: () => controller.abort() };
  }

  const sleep = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
  const summarize = (changes: KvChange[]) => changes.map(({ key, type }) => `${type} ${key}`).sort();

  it('reports puts, removals and expiries of another process, and nothing from before', async () => {
    await store.kv.put('jobs.before', { a: 1 });
    await store.kv.put('jobs.old', { a: 1 });
    const { seen, stop } = listen(store, 'jobs.');
    await other.kv.put('jobs.new', { a: 1 });
    await other.kv.put('elsewhere', { a: 1 });
    await other.kv.setField('jobs.old', 'a', 2);
    await other.kv.delete('jobs.before');
    await other.kv.put('jobs.brief', { a: 1 }, { ttl: 1_000 });
    await expect
      .poll(() => summarize(seen))
      .toEqual(['delete jobs.before', 'put jobs.brief', 'put jobs.new', 'put jobs.old']);
    seen.length = 0;
    file.advance(1_000);
    await expect.poll(() => summarize(seen)).toEqual(['expire jobs.brief']);
    stop();
  });

  it('reports its own writes once and in order, while another process writes as well', async () => {
    const { seen, stop } = listen(store, 'k');
    for (let n = 0; n < 20; n++) {
      await store.kv.put('k', { n });
      if (n % 5 === 0) await other.kv.put('k-other', { n });
      await sleep(20);
    }
    await store.kv.delete('k');
    await sleep(500);
    expect(summarize(seen.filter(({ key }) => key === 'k'))).toEqual(['delete k', ...Array(20).fill('put k')]);
    const revisions = seen.filter(({ key, record }) => key === 'k' && record).map(({ record }) => record!.revision);
    expect(revisions).toEqual([...revisions].sort((a, b) => a - b));
    stop();
  });

  it('compares nothing while only this process writes', async () => {
    const { stop } = listen(store, '');
    await sleep(250);
    const statements = await statementsOf(async () => {
      for (let n = 0; n < 20; n++) await store.kv.put(`k${n}`, { n });
      await sleep(500);
    });
    expect(statements.filter((sql) => /FROM @kv_records[\s\S]*ORDER BY key/.test(sql))).toEqual([]);
    stop();
  });
});

describe('ranges', () => {
  it('end a prefix at the next text in byte order', () => {
    const endOf = (prefix: string) => keyRange('key', prefix, null).params[1] ?? null;
    expect(endOf('ab')).toBe('ac');
    expect(endOf('a\uD7FF')).toBe('a\uE000');
    expect(endOf('a\u{10FFFF}')).toBe('b');
    expect(endOf('\u{10FFFF}')).toBe(null);
    expect(endOf('')).toBe(null);
    expect(endOf('🌊')).toBe('🌋');
  });

  it('begin after a key, but never before the prefix', () => {
    expect(keyRange('key', 'b', 'bb')).toEqual({ sql: 'key > ? AND key < ?', params: ['bb', 'c'] });
    expect(keyRange('key', 'b', 'a')).toEqual({ sql: 'key >= ? AND key < ?', params: ['b', 'c'] });
  });
});
