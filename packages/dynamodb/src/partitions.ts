/**
 * Reads ranges of a partition page by page. Also lists the distinct beginnings of keys without reading the keys in
 * between.
 */
import { compareKeys, type EngineCall } from '@tidemark/core/engine';
import type { Client, Item, TableKind } from './client.ts';

export interface PartitionRange {
  /** The lowest key, inclusive. */
  from: Buffer;
  /** The highest key. It is inclusive, as in DynamoDB. */
  to: Buffer;
  reverse?: boolean;
  /** Items per page; a page also ends after 1 MB. */
  page?: number;
  /** Whether to return only `p` and `s`. */
  keysOnly?: boolean;
  /** A filter. DynamoDB applies it after an item has been read and charged. */
  filter?: string;
  projection?: { expression: string; names?: Record<string, string> };
}

/** Yields the pages of a range in order. */
export async function* readPartition(
  client: Client,
  table: TableKind,
  partition: Buffer,
  { from, to, reverse, page, keysOnly, filter, projection }: PartitionRange,
  call: EngineCall,
): AsyncGenerator<Item[], void, undefined> {
  if (Buffer.compare(from, to) > 0) return;
  const names = { '#p': 'p', '#s': 's', ...projection?.names };
  const shown = keysOnly ? '#p, #s' : projection?.expression;
  for (let start: Item | undefined; ; ) {
    const reply = await client.query(
      table,
      {
        KeyConditionExpression: '#p = :p AND #s BETWEEN :a AND :b',
        ExpressionAttributeNames: names,
        ExpressionAttributeValues: { ':p': { B: partition }, ':a': { B: from }, ':b': { B: to } },
        ScanIndexForward: !reverse,
        ...(page !== undefined && { Limit: page }),
        ...(shown !== undefined && { ProjectionExpression: shown }),
        ...(filter !== undefined && { FilterExpression: filter }),
        ...(start && { ExclusiveStartKey: start }),
      },
      call,
    );
    if (reply.Items && reply.Items.length > 0) yield reply.Items;
    if (!reply.LastEvaluatedKey) return;
    start = reply.LastEvaluatedKey;
  }
}

const PAGE = 20;

/**
 * Returns the first distinct texts that `textOf` finds in a partition, in byte order, after a given text. Each text
 * requires one query, which skips all keys of the previous text.
 */
export async function distinctTexts(
  client: Client,
  table: TableKind,
  partition: Buffer,
  { after, limit, filter }: DistinctRange,
  textOf: (item: Item) => string,
  call: EngineCall,
): Promise<string[]> {
  const found: string[] = [];
  for (let last = after; found.length < limit; ) {
    const from = last === null ? LOWEST : Buffer.from(`${last}\x01`);
    const range: PartitionRange = { from, to: HIGHEST, page: PAGE };
    if (filter !== undefined) range.filter = filter;
    const next = await firstOf(client, table, partition, range, call);
    if (!next) break;
    const text = textOf(next);
    if (last === null || compareKeys(text, last) > 0) found.push(text);
    last = text;
  }
  return found;
}

export interface DistinctRange {
  after: string | null;
  limit: number;
  filter?: string;
}

/** The lowest key, because keys cannot be empty. */
export const LOWEST = Buffer.from([0]);
/** A key that sorts after every text. */
export const HIGHEST = Buffer.alloc(16, 0xff);

async function firstOf(
  client: Client,
  table: TableKind,
  partition: Buffer,
  range: PartitionRange,
  call: EngineCall,
): Promise<Item | undefined> {
  for await (const items of readPartition(client, table, partition, range, call)) return items[0];
  return undefined;
}
