/** Server requests of the record views. */
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

/** Returns the record of a key, or `null` if it does not exist. */
export async function findRecord(key: string, tenant: Tenant, signal: AbortSignal): Promise<WireRecord | null> {
  const { items } = await ask('POST /v1/kv-lookup', { query: { tenant }, body: { keys: [key] }, signal });
  return items[0] ?? null;
}

/** A write on the condition that the record has a revision. 0 means that the record must not exist. */
export interface RecordWrite {
  expectedRevision: number;
  /** `null` removes a field. A record without fields is deleted. */
  set: Record<string, WireBytes | null>;
  /** Names of fields to encrypt in storage. */
  sealed?: string[];
  requestId: string;
}

/** Returns whether the record was written, and the current record. */
export function writeRecord(
  key: string,
  body: RecordWrite,
  tenant: Tenant,
): Promise<{ swapped: boolean; record: WireRecord | null }> {
  return ask('POST /v1/kv/{key}/swap', { params: { key }, query: { tenant }, body });
}
