/** Stores LangGraph's long-term memory in kv records. */
import {
  BaseStore,
  type GetOperation,
  type Item,
  type ListNamespacesOperation,
  type MatchCondition,
  type Operation,
  type OperationResults,
  type PutOperation,
  type SearchItem,
  type SearchOperation,
} from '@langchain/langgraph-checkpoint';
import { type KvRecord, type KvStore, numberOf, type Store, TidemarkError } from '@tidemark/core';
import { cutIntoFields, joinFields, packFrames, unpackFrames } from '@tidemark/core/adapters';
import { type Encoding, encodingOf } from './encoding.ts';
import { matchesFilter } from './filters.ts';
import { itemKey, MEMORY, namespaceRange } from './namespaces.ts';
import { refuse } from './refuse.ts';

/** Options of `TidemarkStore`. */
export interface TidemarkStoreOptions {
  /** Whether to compress values of 1 KiB and more. Default: false. */
  compress?: boolean;
}

const VALUE = 'v';
const NAME = 'name';
const CREATED = 'created';
const UPDATED = 'updated';

/** The maximum number of attempts. An attempt fails only if another writer changed the same item. */
const MAX_TRIES = 100;

/**
 * Stores LangGraph's long-term memory in a Tidemark store on any engine. Values are JSON objects.
 *
 * A search scans a namespace in key order and compares each item with the filter. Vector search is not supported: a
 * search with `query` fails with `UNSUPPORTED`. If the store encrypts, items are sealed.
 *
 * @example
 * const store = await open('sqlite:agent.db');
 * const graph = builder.compile({ store: new TidemarkStore(store) });
 */
export class TidemarkStore extends BaseStore {
  readonly #kv: KvStore;
  readonly #encoding: Encoding;

  /** @throws `INVALID_ARGUMENT` when the first argument is not a store. */
  constructor(store: Store, options: TidemarkStoreOptions = {}) {
    super();
    if (typeof store?.kv?.swap !== 'function') throw refuse('store', 'must be an open Tidemark store');
    this.#kv = store.kv;
    this.#encoding = encodingOf(store, options.compress);
  }

  /**
   * Runs operations together. Reads return the state before the batch. If several writes change the same item, only the
   * last write counts.
   *
   * @throws `UNSUPPORTED` for a search with `query`.
   */
  override async batch<Op extends Operation[]>(operations: Op): Promise<OperationResults<Op>> {
    for (const operation of operations) if ('value' in operation) checkPut(operation);
    const results = await Promise.all(operations.map((operation) => this.#read(operation)));
    const puts = new Map<string, PutOperation>();
    for (const operation of operations) {
      if ('value' in operation) puts.set(itemKey(operation.namespace, operation.key), operation);
    }
    await Promise.all([...puts].map(([key, operation]) => this.#put(key, operation)));
    return results as OperationResults<Op>;
  }

  async #read(operation: Operation): Promise<unknown> {
    if ('value' in operation) return null;
    if ('namespacePrefix' in operation) return this.#search(operation);
    if ('key' in operation) return this.#get(operation as GetOperation);
    return this.#listNamespaces(operation as ListNamespacesOperation);
  }

  async #get({ namespace, key }: GetOperation): Promise<Item | null> {
    const record = await this.#kv.get(itemKey(namespace, key));
    return record === null ? null : itemOf(record);
  }

  async #put(key: string, { namespace, key: name, value }: PutOperation): Promise<void> {
    if (value === null) {
      await this.#kv.delete(key);
      return;
    }
    const now = Date.now();
    const { sealed } = this.#encoding;
    const bytes = packFrames([{ type: 'json', bytes: Buffer.from(JSON.stringify(value)) }], this.#encoding);
    const set = {
      [NAME]: JSON.stringify([namespace, name]),
      [UPDATED]: now,
      ...cutIntoFields(VALUE, bytes, this.#encoding.fieldBytes),
    };
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const isNew = await this.#kv.swap(key, {
        expected: { [CREATED]: null },
        set: { ...set, [CREATED]: now },
        sealed,
      });
      if (isNew.swapped) return;
      const { written } = await this.#kv.setFields(key, set, { ifExists: true, sealed });
      if (written) return;
    }
    throw new Error(`The item ${key} could not be stored: it was deleted and stored by others ${MAX_TRIES} times`);
  }

  async #search(operation: SearchOperation): Promise<SearchItem[]> {
    const { namespacePrefix, filter, limit = 10, offset = 0, query } = operation;
    if (query !== undefined && query !== '') {
      throw new TidemarkError('UNSUPPORTED', 'TidemarkStore has no vectors: search without `query`, with `filter`', {
        field: 'query',
        rule: 'must be absent',
      });
    }
    const found: SearchItem[] = [];
    if (limit <= 0) return found;
    let skipped = 0;
    for await (const item of this.#items(namespacePrefix)) {
      if (filter !== undefined && !matchesFilter(item.value, filter)) continue;
      if (skipped < offset) skipped += 1;
      else found.push({ ...item, score: undefined } as unknown as SearchItem);
      if (found.length === limit) break;
    }
    return found;
  }

  async *#items(labels: readonly string[]): AsyncGenerator<Item> {
    for await (const { record } of this.#kv.scan(MEMORY, undefined, namespaceRange(labels))) {
      const item = itemOf(record);
      if (labels.every((label, at) => item.namespace[at] === label)) yield item;
    }
  }

  async #listNamespaces(operation: ListNamespacesOperation): Promise<string[][]> {
    const { matchConditions = [], maxDepth, limit, offset } = operation;
    const prefix = matchConditions.find(({ matchType, path }) => matchType === 'prefix' && !path.includes('*'));
    const found = new Map<string, string[]>();
    // Reads keys without values, because a namespace may contain many large items.
    for await (const { key } of this.#kv.scan(MEMORY, undefined, {
      ...namespaceRange(prefix?.path ?? []),
      keysOnly: true,
    })) {
      const path = key.slice(0, key.lastIndexOf('.'));
      if (found.has(path)) continue;
      const name = await this.#kv.getField(key, NAME);
      if (name !== null) found.set(path, namespaceOf(name));
    }
    const unique = new Map<string, string[]>();
    for (const namespace of found.values()) {
      if (!matchConditions.every((condition) => matchesPath(condition, namespace))) continue;
      const short = namespace.slice(0, maxDepth ?? namespace.length);
      unique.set(JSON.stringify(short), short);
    }
    const sorted = [...unique.values()].sort((a, b) => a.join(':').localeCompare(b.join(':')));
    return sorted.slice(offset ?? 0, (offset ?? 0) + (limit ?? sorted.length));
  }
}

function checkPut({ namespace, value }: PutOperation): void {
  if (namespace.length === 0) throw refuse('namespace', 'must have at least one label');
  if (value !== null && (typeof value !== 'object' || Array.isArray(value)))
    throw refuse('value', 'must be a plain object');
}

function itemOf(record: KvRecord): Item {
  const [namespace, key] = JSON.parse(text(record.fields[NAME]!)) as [string[], string];
  const [frame] = unpackFrames(joinFields(VALUE, record.fields)!);
  return {
    namespace,
    key,
    value: JSON.parse(text(frame!.bytes)) as Record<string, unknown>,
    createdAt: new Date(numberOf(record.fields[CREATED]) ?? 0),
    updatedAt: new Date(numberOf(record.fields[UPDATED]) ?? 0),
  };
}

function namespaceOf(name: Uint8Array): string[] {
  return (JSON.parse(text(name)) as [string[], string])[0];
}

function matchesPath({ matchType, path }: MatchCondition, namespace: readonly string[]): boolean {
  const start = matchType === 'prefix' ? 0 : namespace.length - path.length;
  return path.length <= namespace.length && path.every((label, at) => label === '*' || label === namespace[start + at]);
}

function text(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('utf8');
}
