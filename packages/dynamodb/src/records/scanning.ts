/** Reads the items of a range of records or of index entries of jobs. */
import {
  boundsOf,
  compareKeys,
  type EngineCall,
  type IndexRange,
  type RecordSpace,
  type ScanRange,
} from '@tidemark/core/engine';
import type { Client, Item } from '../client.ts';
import { joined, recordPartition, sortKey } from '../keys.ts';
import { HIGHEST, type PartitionRange, readPartition } from '../partitions.ts';

/** The number of extra items to read, because some of them are expired or deleted records. */
const EXTRA = 8;
const MAX_PER_PAGE = 1_000;
/** The index cuts keys that are longer than this, so the bounds are checked again with the whole key. */
const CUT_AT = 960;

/** Yields the items of a scan in order, including the items of deleted and expired records. */
export async function* scanItems(
  client: Client,
  space: RecordSpace,
  tenantId: string,
  range: ScanRange,
  call: EngineCall,
): AsyncGenerator<Item[], void, undefined> {
  const { after, reverse, keysOnly, limit } = range;
  const { low, high } = boundsOf({ ...range, after: null });
  const position = after === null ? null : sortKey(joined(tenantId, after));
  const lowest = lowBound(joined(tenantId, low));
  const highest = high === null ? Buffer.from(`${tenantId}\x01`) : highBound(joined(tenantId, high));
  const from = position && !reverse && Buffer.compare(position, lowest) > 0 ? position : lowest;
  const to = position && reverse && Buffer.compare(position, highest) < 0 ? position : highest;
  const read: PartitionRange = { from, to, page: Math.min(limit + EXTRA, MAX_PER_PAGE) };
  if (reverse) read.reverse = true;
  if (keysOnly) read.projection = KEYS_ONLY;
  for await (const items of readPartition(client, 'records', recordPartition('r', space, tenantId), read, call)) {
    const within = items.filter(({ s, k }) => {
      if (position?.equals(s!.B!)) return false;
      const key = k!.S!;
      return compareKeys(key, low) >= 0 && (high === null || compareKeys(key, high) < 0);
    });
    if (within.length > 0) yield within;
  }
}

/** The attributes by which a scan of keys recognises live records. */
const KEYS_ONLY = {
  expression: '#s, #k, #r, #w, #x, #d',
  names: { '#k': 'k', '#r': 'r', '#w': 'w', '#x': 'x', '#d': 'd' },
};

function lowBound(bytes: Buffer): Buffer {
  return bytes.subarray(0, CUT_AT);
}

function highBound(bytes: Buffer): Buffer {
  return bytes.length <= CUT_AT ? bytes : Buffer.concat([bytes.subarray(0, CUT_AT), HIGHEST, HIGHEST, HIGHEST]);
}

/** Yields index entries of jobs in order. */
export async function* scanIndexItems(
  client: Client,
  tenantId: string,
  { from, to, after, limit }: IndexRange,
  call: EngineCall,
): AsyncGenerator<{ indexKey: string; key: string }[], void, undefined> {
  const position = after ? sortKey(joined(tenantId, after.indexKey, after.key)) : null;
  const range = {
    from: position ?? joined(tenantId, from),
    to: joined(tenantId, to),
    page: Math.min(limit + EXTRA, MAX_PER_PAGE),
  };
  for await (const items of readPartition(client, 'records', recordPartition('i', 'kv', tenantId), range, call)) {
    const entries = items.filter(({ s }) => !position?.equals(s!.B!));
    yield entries.map(({ a, k }) => ({ indexKey: a!.S!, key: k!.S! }));
  }
}
