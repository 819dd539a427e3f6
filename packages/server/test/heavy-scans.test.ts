/** Scans of heavy records over HTTP stay within the time limit of a call, because pages are bounded by bytes (KV-4). */
import { httpStore } from '@tidemark/client';
import { describe, expect, it, onTestFinished } from 'vitest';
import { startServer } from './running.ts';

const RECORDS = 200;
const BYTES = 400 * 1024;

describe('heavy records over HTTP', { timeout: 120_000 }, () => {
  it('are scanned completely, each page within the time limit of a call', async () => {
    const { store, url } = await startServer();
    for (let at = 0; at < RECORDS; at += 20) {
      const value = new Uint8Array(BYTES).fill(at);
      const keys = Array.from({ length: 20 }, (_, n) => `heavy.${String(at + n).padStart(3, '0')}`);
      await Promise.all(keys.map((key) => store.kv.put(key, { value })));
    }
    const client = await httpStore({ url });
    onTestFinished(() => client.close());
    const pages: { records: number; ms: number }[] = [];
    let seen = 0;
    for (let cursor: string | undefined; ; ) {
      const began = performance.now();
      const page = await client.kv.scanPage('heavy.', { limit: RECORDS, ...(cursor === undefined ? {} : { cursor }) });
      pages.push({ records: page.items.length, ms: performance.now() - began });
      for (const { key, record } of page.items) {
        expect(key).toBe(`heavy.${String(seen).padStart(3, '0')}`);
        expect(record.fields.value).toHaveLength(BYTES);
        seen++;
      }
      if (page.next === undefined) break;
      cursor = page.next;
    }
    expect(seen).toBe(RECORDS);
    // A page ends after about 4 MiB of values.
    expect(Math.max(...pages.map(({ records }) => records))).toBeLessThan(20);
    const scanned: string[] = [];
    for await (const { key, record } of client.kv.scan('heavy.', undefined, { reverse: true })) {
      if (record.fields.value?.length === BYTES) scanned.push(key);
    }
    expect(scanned.length).toBe(RECORDS);
    for await (const { key } of client.kv.scan('heavy.', { maxResults: 1 })) expect(key).toBe('heavy.000');
    expect((await Array.fromAsync(client.kv.scan('heavy.', undefined, { keysOnly: true }))).length).toBe(RECORDS);
  });
});
