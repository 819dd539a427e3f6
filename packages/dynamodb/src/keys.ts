/**
 * The keys of items. Both tables have a binary partition key `p` and a binary sort key `s`, which DynamoDB orders by
 * unsigned bytes, so texts sort by their UTF-8 bytes.
 */
import { createHash } from 'node:crypto';
import type { RecordSpace } from '@tidemark/core/engine';
import type { Item } from './client.ts';

/** DynamoDB allows keys of 1 024 bytes. After this many bytes, a longer key ends in a hash. */
const MAX_PLAIN_BYTES = 960;
/** Records of different tenants are spread over this many partitions. */
export const RECORD_BUCKETS = 8;

/** Joins parts with NUL, which ids cannot contain. */
export function joined(...parts: readonly string[]): Buffer {
  return Buffer.from(parts.join('\0'));
}

/** Returns the sort key for a byte string of any length. */
export function sortKey(bytes: Buffer): Buffer {
  if (bytes.length <= MAX_PLAIN_BYTES) return bytes;
  return Buffer.concat([bytes.subarray(0, MAX_PLAIN_BYTES), hash(bytes)]);
}

export function keyOf(p: Buffer, s: Buffer): Item {
  return { p: { B: p }, s: { B: s } };
}

export function hash(data: Buffer | string): Buffer {
  return createHash('sha256').update(data).digest();
}

/** Returns a number from 0 up to but excluding `count`, which is always the same for the same text. */
export function shareOf(text: string, count: number): number {
  return hash(text).readUInt32BE(0) % count;
}

/** Returns the lowest key above all keys that start with a prefix, or `null` if there is no such key. */
export function endOfPrefix(prefix: Buffer): Buffer | null {
  for (let end = prefix.length; end > 0; end--) {
    const last = prefix[end - 1]!;
    if (last === 0xff) continue;
    return Buffer.concat([prefix.subarray(0, end - 1), Buffer.from([last + 1])]);
  }
  return null;
}

/**
 * Returns the partition of a tenant's records in a space. `kind` stands for records, index entries or parts.
 */
export function recordPartition(kind: 'r' | 'i' | 'x', space: RecordSpace, tenantId: string): Buffer {
  return bucketPartition(kind, space, shareOf(tenantId, RECORD_BUCKETS));
}

export function bucketPartition(kind: string, space: string, bucket: number): Buffer {
  return Buffer.concat([joined(kind, space, ''), Buffer.from([bucket])]);
}

/** Encodes a sequence as eight bytes, which sort by its value. */
export function sequenceBytes(value: number): Buffer {
  const bytes = Buffer.alloc(8);
  bytes.writeBigUInt64BE(BigInt(value));
  return bytes;
}

/** Returns the key of an item that was read. */
export function keyOfItem({ p, s }: Item): Item {
  return { p: p!, s: s! };
}
