/** Calls on whole ranges of records, counting and deleting, in bounded steps (KV-4). */
import { encodeCursor } from '../checks/json.ts';
import { isTidemarkError } from '../contracts/errors.ts';
import type { KvCount, KvDeleted } from '../contracts/kv.ts';
import type { EngineCall } from '../engine/call.ts';
import type { Records, RecordWrite } from '../engine/records.ts';
import { halfTime } from '../tools/deadlines.ts';
import { inParts } from '../tools/paging.ts';
import { sleep } from '../tools/sleep.ts';
import type { ScanPlan, ScanReader } from './scan.ts';

/** The maximum number of records that one count reads, by key alone or with their fields. */
const MAX_KEYS_COUNTED = 100_000;
const MAX_RECORDS_COUNTED = 10_000;
/** Records deleted in one step of the engine. Steps are short, so that other writers can write in between. */
const DELETED_AT_ONCE = 50;
/**
 * The idle time after such a step, as a multiple of the time it took: appends during a deletion keep 0.8 of their rate.
 */
const REST = 5;
const MAX_REST_MS = 100;

/** The kind of cursor that `deletePrefix` returns. */
export const DELETE_CURSOR = 'kv.deletePrefix';

/** Counts matches until the range ends, or until the call has used its share of work or time. */
export async function countMatches(
  reader: ScanReader,
  { range, filter }: ScanPlan,
  call: EngineCall,
): Promise<KvCount> {
  const isLate = halfTime(call);
  let left = range.keysOnly ? MAX_KEYS_COUNTED : MAX_RECORDS_COUNTED;
  let count = 0;
  let exact = true;
  while (!reader.ended) {
    if (left <= 0 || isLate()) return { count, exact: false };
    const rows = await reader.next(Math.min(left, filter.maxResults - count + 1), call);
    left -= rows.length;
    for (const row of rows) {
      if (count === filter.maxResults) return { count, exact: false };
      // A damaged record exists, but it is unknown whether it matches.
      if (row.damaged && filter.predicates.length > 0) exact = false;
      else if (reader.matches(row)) count++;
    }
  }
  return { count, exact };
}

/** Deletes up to `limit` records after a key. */
export async function deleteRange(
  records: Records,
  tenantId: string,
  range: { prefix: string; from?: string; to?: string; after: string | null; limit: number },
  call: EngineCall,
): Promise<KvDeleted> {
  const isLate = halfTime(call);
  const rows = await records.scan('kv', tenantId, { ...range, keysOnly: true, limit: range.limit + 1 }, call);
  const keys = rows.slice(0, range.limit).map(({ key }) => key);
  let deleted = 0;
  let passed = 0;
  const result = (): KvDeleted => {
    if (passed === rows.length) return { deleted };
    return { deleted, next: encodeCursor([DELETE_CURSOR, keys[passed - 1]]) };
  };
  for (const some of inParts(keys, DELETED_AT_ONCE)) {
    if (passed > 0 && isLate()) return result();
    const start = performance.now();
    try {
      const outcomes = await records.batch(
        some.map((key) => removalOf(tenantId, key)),
        call,
      );
      deleted += outcomes.filter(({ existed }) => existed).length;
    } catch (error) {
      // Earlier groups have been deleted, which an error would hide. The next call will fail with the same error.
      if (passed === 0 || isTidemarkError(error, 'OUTCOME_UNKNOWN')) throw error;
      return result();
    }
    passed += some.length;
    if (passed < rows.length) await sleep(Math.min(MAX_REST_MS, REST * (performance.now() - start)));
  }
  return result();
}

function removalOf(tenantId: string, key: string): RecordWrite {
  return { name: { space: 'kv', tenantId, key }, mode: 'delete', set: new Map(), brief: true };
}
