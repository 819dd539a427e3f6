/** Shorthands for reading records in cases. */
import type { KvRecord, Store } from '@tidemark/core';
import { textOf } from '@tidemark/core';
import { all } from '../iterate.ts';

/** Returns the fields of a record as text, or `null` when there is no record. */
export function textsOf(record: KvRecord | null): Record<string, string> | null {
  if (!record) return null;
  return Object.fromEntries(Object.entries(record.fields).map(([name, bytes]) => [name, textOf(bytes) as string]));
}

/** Returns the fields of a stored record as text. */
export async function readTexts(store: Store, key: string): Promise<Record<string, string> | null> {
  return textsOf(await store.kv.get(key));
}

/** Returns the keys of a scan. */
export async function scanKeys(store: Store, ...scan: Parameters<Store['kv']['scan']>): Promise<string[]> {
  return (await all(store.kv.scan(...scan))).map((it) => it.key);
}
