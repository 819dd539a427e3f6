/** What the views of records ask the server. */
import type { Page } from '@tidemark/core/portable';
import { ask, resource } from '../live/http.ts';
import type { Tenant } from '../live/tenant.ts';

/** The bytes of a field as they travel: text where they are UTF-8. */
export type WireBytes = { text: string } | { base64: string };
export type WireFields = Record<string, WireBytes>;

export interface WireRecord {
  fields: WireFields;
  /** Milliseconds left to live when it was read. */
  ttl?: number;
  revision: number;
}

export interface WireEntry {
  key: string;
  record: WireRecord;
}

export interface WireChange {
  key: string;
  type: 'put' | 'delete' | 'expire';
  record: WireRecord | null;
}

export function scanRecords(
  prefix: string,
  page: { cursor?: string | undefined; limit: number },
  tenant: Tenant,
  signal: AbortSignal,
): Promise<Page<WireEntry>> {
  return ask(resource('kv'), { query: { prefix, ...page, tenant }, signal });
}

/** The record of a key; `null` where there is none. */
export async function findRecord(key: string, tenant: Tenant, signal: AbortSignal): Promise<WireRecord | null> {
  const asking = { method: 'POST', query: { tenant }, body: { keys: [key] }, signal } as const;
  const { items } = await ask<{ items: (WireRecord | null)[] }>(resource('kv-lookup'), asking);
  return items[0] ?? null;
}

/** A write on top of a revision; 0 where there must be no record. */
export interface RecordWrite {
  revision: number;
  /** `null` takes a field out; a record without fields is gone. */
  set: Record<string, WireBytes | null>;
  requestId: string;
}

/** Tells whether it was written, and what stands there now. */
export function writeRecord(
  key: string,
  body: RecordWrite,
  tenant: Tenant,
): Promise<{ swapped: boolean; record: WireRecord | null }> {
  return ask(resource('kv', key, 'swap'), { method: 'POST', query: { tenant }, body });
}
