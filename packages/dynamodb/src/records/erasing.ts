/** Erases the records of tenants physically, and lists tenants that have records. */
import { type EngineCall, firstAfter, type RecordSpace, requestPrefix } from '@tidemark/core/engine';
import type { Client, Item } from '../client.ts';
import { bucketPartition, endOfPrefix, joined, keyOfItem, RECORD_BUCKETS, recordPartition } from '../keys.ts';
import { distinctTexts, readPartition } from '../partitions.ts';
import { readItem, recordKey } from './record-item.ts';
import type { RecordParts } from './record-parts.ts';
import { hasIndexKeys, indexKeysToDelete, unchanged } from './record-plan.ts';

const PAGE = 100;
/** Excludes the markers of deleted records. */
const NO_MARKERS = 'attribute_not_exists(d)';

export class Eraser {
  readonly #client: Client;
  readonly #parts: RecordParts;

  constructor(client: Client, parts: RecordParts) {
    this.#client = client;
    this.#parts = parts;
  }

  async tenants(space: RecordSpace, after: string | null, limit: number, call: EngineCall): Promise<string[]> {
    const range = { after, limit, filter: NO_MARKERS };
    const pages = await Promise.all(
      Array.from({ length: RECORD_BUCKETS }, (_, bucket) =>
        distinctTexts(this.#client, 'records', bucketPartition('r', space, bucket), range, ({ o }) => o!.S!, call),
      ),
    );
    return firstAfter(pages.flat(), after, limit);
  }

  /** Also removes markers of deleted records, but returns only records. */
  async erase(space: RecordSpace, tenantId: string, limit: number, call: EngineCall): Promise<string[]> {
    const prefix = joined(tenantId, '');
    const range = { from: prefix, to: endOfPrefix(prefix)!, page: Math.min(limit, PAGE) };
    const partition = recordPartition('r', space, tenantId);
    for await (const items of readPartition(this.#client, 'records', partition, range, call)) {
      const plain = items.filter((item) => !isJob(space, item));
      await this.#client.deleteAll('records', plain.map(keyOfItem), call);
      for (const item of items) if (isJob(space, item)) await this.#eraseJob(tenantId, item, call);
      const keys = items.filter(({ d }) => d === undefined).map(({ k }) => k!.S!);
      if (keys.length > 0) return keys;
    }
    await this.#parts.removeAll({ space, tenantId }, call);
    if (space === 'kv') await this.#removeStrayIndexKeys(tenantId, call);
    if (space !== 'requests') await this.#eraseRequests(space, tenantId, call);
    return [];
  }

  /** Removes a job together with its index entries. A job that changes at the same time is found again. */
  async #eraseJob(tenantId: string, item: Item, call: EngineCall): Promise<void> {
    const name = { space: 'kv', tenantId, key: item.k!.S! } as const;
    const found = readItem(name, item);
    const TableName = this.#client.table('records');
    const indexKeys = found.isDeleted ? [] : indexKeysToDelete(name, found.fields);
    const actions = indexKeys.map((Key) => ({ Delete: { TableName, Key } }));
    await this.#client.transact(
      [{ Delete: { TableName, Key: keyOfItem(item), ...unchanged(found) } }, ...actions],
      call,
    );
  }

  /** Removes index entries whose records DynamoDB removed after they had expired. */
  async #removeStrayIndexKeys(tenantId: string, call: EngineCall): Promise<void> {
    const prefix = joined(tenantId, '');
    const range = { from: prefix, to: endOfPrefix(prefix)!, page: PAGE };
    const TableName = this.#client.table('records');
    for await (const items of readPartition(this.#client, 'records', recordPartition('i', 'kv', tenantId), range, call))
      for (const item of items) {
        const name = { space: 'kv', tenantId, key: item.k!.S! } as const;
        const isGone = { ConditionExpression: 'attribute_not_exists(p)' };
        const check = { ConditionCheck: { TableName, Key: recordKey(name), ...isGone } };
        await this.#client.transact([check, { Delete: { TableName, Key: keyOfItem(item) } }], call);
      }
  }

  /** Removes the request ids of a space that are stored outside their records. */
  async #eraseRequests(space: RecordSpace, tenantId: string, call: EngineCall): Promise<void> {
    const prefix = joined(tenantId, requestPrefix(space));
    const range = { from: prefix, to: endOfPrefix(prefix)!, keysOnly: true };
    const partition = recordPartition('r', 'requests', tenantId);
    for await (const items of readPartition(this.#client, 'records', partition, range, call))
      await this.#client.deleteAll('records', items.map(keyOfItem), call);
  }
}

function isJob(space: RecordSpace, item: Item): boolean {
  return hasIndexKeys({ space, tenantId: item.o!.S!, key: item.k!.S! });
}
