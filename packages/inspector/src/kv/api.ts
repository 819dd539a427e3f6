/** What the views of records ask the server. */
import type { Page } from '@tidemark/core/portable';
import type { WireBytes, WireEntry, WireRecord } from '@tidemark/wire';
import { ask } from '../live/http.ts';
import type { Tenant } from '../live/tenant.ts';

export function scanRecords(
  prefix: string,
  page: { cursor?: string | undefined; limit: number },
  tenant: Tenant,
  signal: AbortSignal,
): Promise<Page<WireEntry>> {
  return ask('GET /v1/kv', { query: { prefix, ...page, tenant }, signal });
}

/** The record of a key; `null` where there is none. */
export async function findRecord(key: string, tenant: Tenant, signal: AbortSignal): Promise<WireRecord | null> {
  const { items } = await ask('POST /v1/kv-lookup', { query: { tenant }, body: { keys: [key] }, signal });
  return items[0] ?? null;
}

/** A write on top of a revision; 0 where there must be no record. */
export interface RecordWrite {
  expectedRevision: number;
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
  return ask('POST /v1/kv/{key}/swap', { params: { key }, query: { tenant }, body });
}
