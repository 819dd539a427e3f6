/**
 * Scans jobs through the index. Engines that read index and records separately may return records that have changed
 * since, so a row counts only if its record still has the index key. A write that is conditional on the row's revision
 * is therefore also conditional on the state in the index.
 */

import type { EngineCall } from '../engine/call.ts';
import type { IndexedRecord, Records } from '../engine/records.ts';
import { indexKeysOf } from './index-keys.ts';

type IndexRange = Parameters<Records['scanIndex']>[1];

/** Returns records with an index key in the range, in order, up to its limit; fewer only when there are no more. */
export async function scanJobs(
  records: Pick<Records, 'scanIndex'>,
  tenantId: string,
  range: IndexRange,
  call: EngineCall,
): Promise<IndexedRecord[]> {
  const found: IndexedRecord[] = [];
  let { after } = range;
  for (;;) {
    const limit = range.limit - found.length;
    const rows = await records.scanIndex(tenantId, { ...range, after, limit }, call);
    // Skip a damaged job, so that the others proceed; `doctor` finds it.
    for (const row of rows)
      if (!row.damaged && indexKeysOf(row.key, row.fields).includes(row.indexKey)) found.push(row);
    if (rows.length < limit || found.length === range.limit) return found;
    const { indexKey, key } = rows.at(-1)!;
    after = { indexKey, key };
  }
}
