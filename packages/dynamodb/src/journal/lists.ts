/** The lists of journals, which change only when a journal begins or ends: by name, by tenant, and runs by time. */
import type { TransactWriteItem } from '@aws-sdk/client-dynamodb';
import { TidemarkError } from '@tidemark/core';
import {
  type EngineCall,
  firstAfter,
  type JournalHead,
  type JournalName,
  type JournalPosition,
  type JournalRange,
  type JournalSpace,
  Merge,
} from '@tidemark/core/engine';
import type { Client, Item } from '../client.ts';
import { bucketPartition, joined, keyOf, keyOfItem, RECORD_BUCKETS, sequenceBytes, shareOf, sortKey } from '../keys.ts';
import { distinctTexts, HIGHEST, LOWEST, readPartition } from '../partitions.ts';
import { headKey, headOf, readHead } from './head.ts';

/** Only runs are listed and in the feed; agent logs are found through their session or trace. */
export function isListed(space: JournalSpace): boolean {
  return space === 'runs';
}

export function requireListed(space: JournalSpace): void {
  if (!isListed(space)) throw new TidemarkError('UNSUPPORTED', `On DynamoDB journals of ${space} are not listed`);
}

interface Listed {
  name: JournalName;
  /** The sort key in the list. */
  at: Buffer;
}

const MAX_PER_PAGE = 200;

export class JournalLists {
  readonly #client: Client;
  readonly #shards: number;

  constructor(client: Client, shards: number) {
    this.#client = client;
    this.#shards = shards;
  }

  /**
   * Returns the item that exists from the first commit of a journal until the journal and its tombstone are removed.
   */
  nameItem({ space, tenantId, name }: JournalName): Item {
    const partition = bucketPartition('n', space, shareOf(tenantId, RECORD_BUCKETS));
    return { ...keyOf(partition, sortKey(joined(tenantId, name))), o: { S: tenantId }, k: { S: name } };
  }

  /** Returns the item by which the tenants of a run are found. */
  tenantItem({ space, tenantId, name }: JournalName): Item {
    return { ...keyOf(joined('u', space, name), sortKey(joined(tenantId))), o: { S: tenantId } };
  }

  /** Returns the items of a live run in the lists by time. */
  timeItems(name: JournalName, createdAt: number): Item[] {
    const { tenantId } = name;
    return [undefined, tenantId].map((of) => ({
      ...keyOf(this.#partition(of, this.#shardOf(name)), positionKey({ createdAt, tenantId, name: name.name }, of)),
      o: { S: tenantId },
      k: { S: name.name },
    }));
  }

  /** Adds a journal to its lists. */
  additions(name: JournalName, createdAt: number | null): TransactWriteItem[] {
    const items = [this.nameItem(name)];
    if (isListed(name.space)) items.push(this.tenantItem(name));
    if (isListed(name.space) && createdAt !== null) items.push(...this.timeItems(name, createdAt));
    return items.map((Item) => ({ Put: { TableName: this.#client.table('log'), Item } }));
  }

  /** Removes items from lists. */
  removals(items: readonly Item[]): TransactWriteItem[] {
    const TableName = this.#client.table('log');
    return items.map((it) => ({ Delete: { TableName, Key: keyOfItem(it) } }));
  }

  #shardOf({ tenantId, name }: JournalName): number {
    return shareOf(`${tenantId}\0${name}`, this.#shards);
  }

  #partition(tenantId: string | undefined, shard: number): Buffer {
    return bucketPartition(tenantId === undefined ? 'l' : 'lt', tenantId ?? 'runs', shard);
  }

  async tenants(space: JournalSpace, after: string | null, limit: number, call: EngineCall): Promise<string[]> {
    const pages = await Promise.all(
      Array.from({ length: RECORD_BUCKETS }, (_, bucket) => {
        const partition = bucketPartition('n', space, bucket);
        return distinctTexts(this.#client, 'log', partition, { after, limit }, ({ o }) => o!.S!, call);
      }),
    );
    return firstAfter(pages.flat(), after, limit);
  }

  async names(
    space: JournalSpace,
    tenantId: string,
    after: string | null,
    limit: number,
    call: EngineCall,
  ): Promise<string[]> {
    const position = sortKey(joined(tenantId, after ?? ''));
    const range = { from: position, to: Buffer.from(`${tenantId}\x01`), page: Math.min(limit + 1, MAX_PER_PAGE) };
    const partition = bucketPartition('n', space, shareOf(tenantId, RECORD_BUCKETS));
    const names: string[] = [];
    for await (const items of readPartition(this.#client, 'log', partition, range, call)) {
      for (const { s, k } of items) if (after === null || !position.equals(s!.B!)) names.push(k!.S!);
      if (names.length >= limit) break;
    }
    return names.slice(0, limit);
  }

  async tenantsOf(space: JournalSpace, name: string, call: EngineCall): Promise<string[]> {
    requireListed(space);
    const range = { from: LOWEST, to: HIGHEST, page: 2 };
    for await (const items of readPartition(this.#client, 'log', joined('u', space, name), range, call))
      return items.map(({ o }) => o!.S!);
    return [];
  }

  async list(space: JournalSpace, range: JournalRange, call: EngineCall) {
    requireListed(space);
    const { limit, order } = range;
    const sign = order === 'newest' ? -1 : 1;
    const merge = new Merge<Listed>(
      {
        buckets: this.#shards,
        compare: (a, b) => sign * Buffer.compare(a.at, b.at),
        read: (shard, last, count) => this.#page(space, range, shard, last, count, call),
      },
      limit,
    );
    const found: { name: JournalName; head: JournalHead }[] = [];
    while (found.length < limit) {
      const wanted = limit - found.length;
      const listed = await merge.take(wanted);
      const items = await this.#client.getMany(
        'log',
        listed.map(({ name }) => headKey(name)),
        call,
      );
      for (const [at, { name }] of listed.entries()) {
        const head = readHead(items[at]);
        if (head.live) found.push({ name, head: headOf(head)! });
      }
      if (listed.length < wanted) break;
    }
    return found;
  }

  async #page(
    space: JournalSpace,
    { tenantId, order, after }: JournalRange,
    shard: number,
    last: Listed | null,
    count: number,
    call: EngineCall,
  ): Promise<Listed[]> {
    const position = last?.at ?? (after ? positionKey(after, tenantId) : null);
    const [from, to] = order === 'oldest' ? [position ?? LOWEST, HIGHEST] : [LOWEST, position ?? HIGHEST];
    const range = { from, to, reverse: order === 'newest', page: count + 1 };
    const found: Listed[] = [];
    for await (const items of readPartition(this.#client, 'log', this.#partition(tenantId, shard), range, call)) {
      for (const { s, o, k } of items)
        if (!position?.equals(s!.B!))
          found.push({ name: { space, tenantId: o!.S!, name: k!.S! }, at: Buffer.from(s!.B!) });
      if (found.length >= count) break;
    }
    return found.slice(0, count);
  }
}

/**
 * Returns the sort key of a run in a list. The list of a single tenant omits the tenant. A cursor that a caller sent
 * may contain any time.
 */
function positionKey({ createdAt, tenantId, name }: JournalPosition, of: string | undefined): Buffer {
  const text = of === undefined ? joined(tenantId, name) : joined(name);
  return sortKey(Buffer.concat([sequenceBytes(Math.max(0, createdAt)), text]));
}
