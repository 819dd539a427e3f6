/** Stores fields that are too large for the item of their record in separate items. */
import { randomUUID } from 'node:crypto';
import type { EngineCall, Fields, RecordName } from '@tidemark/core/engine';
import type { Client, Item } from '../client.ts';
import { endOfPrefix, joined, keyOf, keyOfItem, recordPartition } from '../keys.ts';
import { decodePairs, encodePairs } from '../pairs.ts';
import { readPartition } from '../partitions.ts';
import { type CheckedFields, checkFields, summed, sumOfName } from './field-sums.ts';
import type { PartsOf } from './record-item.ts';

const PART_BYTES = 350 * 1024;

export class RecordParts {
  readonly #client: Client;

  constructor(client: Client) {
    this.#client = client;
  }

  /** Stores fields before the record that refers to them. */
  async store(name: RecordName, fields: Fields, call: EngineCall): Promise<PartsOf> {
    const { space, tenantId } = name;
    const id = randomUUID();
    const start = sumOfName(name);
    const bytes = encodePairs(Array.from(fields, ([field, value]) => [field, summed(start, field, value)] as const));
    const items: Item[] = [];
    for (let from = 0; from < bytes.length; from += PART_BYTES)
      items.push({
        ...keyOf(recordPartition('x', space, tenantId), partKey(tenantId, id, items.length)),
        b: { B: bytes.subarray(from, from + PART_BYTES) },
      });
    await this.#client.putAll('records', items, call);
    return { id, count: items.length };
  }

  /** Returns the fields, or `null` when a newer version of the record has replaced them. */
  async load(name: RecordName, parts: PartsOf, call: EngineCall): Promise<CheckedFields | null> {
    const { space, tenantId } = name;
    const keys = Array.from({ length: parts.count }, (_, at) =>
      keyOf(recordPartition('x', space, tenantId), partKey(tenantId, parts.id, at)),
    );
    const items = await this.#client.getMany('records', keys, call);
    if (items.includes(undefined)) return null;
    const stored = decodePairs(Buffer.concat(items.map((item) => item!.b!.B!)));
    return stored ? checkFields(name, stored) : { fields: new Map(), damaged: true };
  }

  /**
   * Removes the parts of a version that was replaced, or to which no record ever referred. If this fails, the parts
   * stay.
   */
  async remove({ space, tenantId }: RecordName, parts: PartsOf | null, call: EngineCall): Promise<void> {
    if (!parts) return;
    const keys = Array.from({ length: parts.count }, (_, at) =>
      keyOf(recordPartition('x', space, tenantId), partKey(tenantId, parts.id, at)),
    );
    await this.#client.deleteAll('records', keys, call).catch(() => {});
  }

  /** Removes the parts that interrupted writes of a tenant left behind. */
  async removeAll({ space, tenantId }: Omit<RecordName, 'key'>, call: EngineCall): Promise<void> {
    const prefix = joined(tenantId, '');
    const range = { from: prefix, to: endOfPrefix(prefix)! };
    const partition = recordPartition('x', space, tenantId);
    for await (const items of readPartition(this.#client, 'records', partition, { ...range, keysOnly: true }, call))
      await this.#client.deleteAll('records', items.map(keyOfItem), call);
  }
}

function partKey(tenantId: string, id: string, at: number): Buffer {
  return Buffer.concat([joined(tenantId, id), Buffer.from([0, at >> 8, at & 0xff])]);
}
