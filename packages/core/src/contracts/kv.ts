/** KV: records of named byte fields with TTL, compare-and-swap and ordered scans. */
import type { CallOptions, Duration, Page, PageOptions } from './common.ts';

/** A field value to write. Numbers, big integers and booleans are stored as their text. */
export type KvValue = string | number | bigint | boolean | Uint8Array;

/** A record as reads return it. */
export interface KvRecord {
  /** The fields by name, as bytes, in an object without a prototype. Decode them with `textOf` and `numberOf`. */
  fields: Record<string, Uint8Array>;
  /** The remaining time to live in milliseconds. Absent if the record does not expire. */
  ttl?: number;
  /**
   * A different number after every change, and never one that the key had earlier. It increases where the store has the
   * capability `kv.orderedRevisions`.
   */
  revision: number;
  /** The names of the sealed fields. Absent if there are none. */
  sealed?: string[];
}

/** The key of a record. */
export interface KvKey {
  key: string;
}

/** A record with its key. */
export interface KvEntry extends KvKey {
  record: KvRecord;
}

/** A range of keys in byte order. Both bounds are whole keys. */
export interface KvKeyRange {
  /** The lowest key, inclusive. */
  from?: string;
  /** The end of the range, exclusive. */
  to?: string;
}

/** Options of scans. */
export interface KvScanOptions extends CallOptions, KvKeyRange {
  /** Returns the highest keys first. */
  reverse?: boolean;
  /**
   * Returns `{ key }` without the record. Values are not read, unless the scan has a filter. Pass a literal `true` to
   * get the matching result type.
   */
  keysOnly?: boolean;
}

/** Options of a page of a scan. */
export interface KvScanPageOptions extends KvScanOptions, PageOptions {
  filter?: ScanFilter;
}

/** Options of `count`. */
export interface KvCountOptions extends CallOptions, KvKeyRange {
  filter?: ScanFilter;
}

/** The result of `count`. */
export interface KvCount {
  count: number;
  /** False if there may be more: counting stopped early, or a record that does not match its checksum was omitted. */
  exact: boolean;
}

/** Options of `deletePrefix`. */
export interface KvDeletePrefixOptions extends PageOptions, KvKeyRange {}

/** The result of a step of `deletePrefix`. */
export interface KvDeleted {
  /** The number of records that this step deleted. */
  deleted: number;
  /** The `cursor` of the following step. Absent after the last step. */
  next?: string;
}

/** Options of writes. */
export interface KvWriteOptions extends CallOptions {
  /**
   * Identifies the call: a retry with the same id is not applied again and returns the first result. The id is scoped
   * to the key. It is remembered for at least five minutes, even if the record is deleted, and the last 16 ids of a key
   * for as long as its record exists.
   */
  requestId?: string;
}

/**
 * Which fields a write seals. A sealed field is stored through the codec of the store, bound to its tenant, key and
 * name, and reads return its value as usual. Conditions can only expect it to be absent, filters never match it, and
 * the fields of jobs cannot be sealed. A later write of the field without this option stores it in plain form.
 */
export interface KvSealing {
  /**
   * True for all fields of the write, or their names. The store needs a codec that encrypts; otherwise the write fails
   * with `INVALID_ARGUMENT`.
   */
  sealed?: boolean | readonly string[];
}

/** The result of a write. */
export interface KvWriteResult {
  /** False if `ifExists` was set and there was no record. */
  written: boolean;
  /** The current revision of the record, or `null` if there is no record. */
  revision: number | null;
}

/**
 * One condition of a scan. `eq`, `ne` and `in` compare bytes. The others compare as integers if both values are written
 * as integers, otherwise by bytes. A record without the field matches only `ne`.
 */
export type KvPredicate =
  | { field: string; op: 'eq' | 'ne' | 'lt' | 'gt' | 'lte' | 'gte'; value: KvValue }
  | { field: string; op: 'in'; value: readonly KvValue[] };

/** One predicate, or several that must all hold. `maxResults` limits the number of matches. */
export type ScanFilter =
  | (KvPredicate & { maxResults?: number })
  | { where?: readonly KvPredicate[]; maxResults?: number };

/** Conditions on fields and on the revision, and the fields to write if they hold. */
export interface KvSwap extends KvSealing {
  /** The values that fields must have. `null` means absent. */
  expected?: Record<string, KvValue | null>;
  /** The revision that the record must have. 0 means that there must be no record. */
  expectedRevision?: number;
  /** The fields to write. `null` removes a field. */
  set: Record<string, KvValue | null>;
  /** A new time to live. `null` removes it; absent keeps it. */
  ttl?: Duration | null;
  /** As in `KvWriteOptions`. */
  requestId?: string;
}

/** The result of a swap. */
export interface KvSwapResult {
  /** False if a condition did not hold; nothing was written then. */
  swapped: boolean;
  /** The record as it is now, or `null` if there is none. */
  record: KvRecord | null;
}

/** Conditions of an operation of a batch. */
export interface KvCondition {
  /** The values that fields must have. `null` means absent. */
  expected?: Record<string, KvValue | null>;
  /** The revision that the record must have. 0 means that there must be no record. */
  expectedRevision?: number;
}

/** An operation of a batch: replaces a record, writes some of its fields, or removes it. */
export type KvOperation =
  | ({
      op: 'put';
      key: string;
      /** All fields of the record. */
      fields: Record<string, KvValue>;
      /** A time to live. Absent: the record does not expire. */
      ttl?: Duration;
    } & KvCondition &
      KvSealing)
  | ({
      op: 'setFields';
      key: string;
      /** The fields to write. `null` removes a field. */
      fields: Record<string, KvValue | null>;
      /** A new time to live. `null` removes it; absent keeps it. */
      ttl?: Duration | null;
      /** The record must exist. */
      ifExists?: boolean;
    } & KvCondition &
      KvSealing)
  | ({ op: 'delete'; key: string } & KvCondition);

/** Options of `batch`. */
export interface KvBatchOptions extends CallOptions {
  /**
   * Identifies the call: for five minutes, a retry with the same id is not applied again and returns the first result,
   * even if the records have changed since. The ids of batches are scoped to the tenant.
   */
  requestId?: string;
}

/** The outcome of an operation of a batch. */
export interface KvOperationResult {
  /** The revision that the operation gave the record, or `null` if there is no record after it. */
  revision: number | null;
  /** Whether the record existed before the operation. */
  existed: boolean;
}

/** The first operation of a batch whose condition did not hold. */
export interface KvUnmetCondition {
  /** Its index among the operations. */
  index: number;
  key: string;
  condition: 'expected' | 'expectedRevision' | 'ifExists';
  /** The field, if the condition is `expected`. */
  field?: string;
  /** The record as it is now, or `null` if there is none. */
  record: KvRecord | null;
}

/** The result of a batch: the outcome of each operation in their order, or the condition that did not hold. */
export type KvBatchResult =
  | { written: true; results: KvOperationResult[] }
  | { written: false; unmet: KvUnmetCondition };

/** A change that `watch` reports. */
export interface KvChange {
  key: string;
  type: 'put' | 'delete' | 'expire';
  /** The record after the change, or `null` if it was removed. */
  record: KvRecord | null;
}

/**
 * Reads and writes records of fields. All calls work in the tenant of the view, or in the tenant `default`.
 *
 * Keys and field names have 1 to 512 UTF-8 bytes. A field larger than `info.limits.fieldBytes` fails with
 * `PAYLOAD_TOO_LARGE`. Reading a record that does not match its checksum fails with `CORRUPT_VALUE`; reading a record
 * with a sealed field that cannot be opened fails with `CODEC_FAILED`. A write whose reply is lost fails with
 * `OUTCOME_UNKNOWN` and can be replayed if it has a `requestId`. Errors that every call can throw are listed at
 * `Store`.
 */
export interface KvStore {
  /**
   * Returns the record of a key, or `null` if there is none or it has expired.
   *
   * @throws `CORRUPT_VALUE`.
   */
  get(key: string, options?: CallOptions): Promise<KvRecord | null>;
  /**
   * Returns the records of up to 1 000 keys, in the order of the keys, `null` for each that is missing.
   *
   * @throws `CORRUPT_VALUE`.
   */
  getMany(keys: readonly string[], options?: CallOptions): Promise<(KvRecord | null)[]>;
  /**
   * Writes a record and replaces an existing one completely, including its fields and its time to live. Without `ttl`
   * the record does not expire.
   *
   * @throws `PAYLOAD_TOO_LARGE`. `INVALID_ARGUMENT` if `fields` is empty (use `delete` to remove a record)
   * or if fields cannot be sealed.
   *
   * @example
   * await store.kv.put('session.ada', { cart: 'apples', items: 3 }, { ttl: '30m' });
   * const record = await store.kv.get('session.ada');
   * console.log(textOf(record?.fields.cart), numberOf(record?.fields.items)); // apples 3
   */
  put(
    key: string,
    fields: Record<string, KvValue>,
    options?: KvWriteOptions & KvSealing & { ttl?: Duration },
  ): Promise<KvWriteResult>;
  /** Removes the record and returns whether it existed. */
  delete(key: string, options?: KvWriteOptions): Promise<boolean>;
  /**
   * Returns the bytes of one field, or `null` if the record or the field does not exist.
   *
   * @throws `CORRUPT_VALUE`.
   */
  getField(key: string, field: string, options?: CallOptions): Promise<Uint8Array | null>;
  /**
   * Writes one field and keeps the other fields and the time to live. Creates the record if there is none, unless
   * `ifExists` is set.
   *
   * @throws `PAYLOAD_TOO_LARGE`.
   */
  setField(
    key: string,
    field: string,
    value: KvValue,
    options?: KvWriteOptions & { ifExists?: boolean; sealed?: boolean },
  ): Promise<KvWriteResult>;
  /**
   * Writes several fields in one step and keeps the others and the time to live. `null` removes a field; a record
   * without fields is removed. Creates the record if there is none, unless `ifExists` is set.
   *
   * @throws `PAYLOAD_TOO_LARGE`.
   */
  setFields(
    key: string,
    fields: Record<string, KvValue | null>,
    options?: KvWriteOptions & KvSealing & { ifExists?: boolean },
  ): Promise<KvWriteResult>;
  /**
   * Writes `next` to a field if the field has the bytes of `expected`, and returns whether it did. `null` means absent,
   * for both values.
   *
   * @throws `PAYLOAD_TOO_LARGE`. `INVALID_ARGUMENT` if `expected` is a value and the field is sealed.
   *
   * @example
   * console.log(await store.kv.compareAndSwap('leader', 'node', null, 'node-1')); // true
   * console.log(await store.kv.compareAndSwap('leader', 'node', null, 'node-2')); // false
   */
  compareAndSwap(
    key: string,
    field: string,
    expected: KvValue | null,
    next: KvValue | null,
    options?: KvWriteOptions & { sealed?: boolean },
  ): Promise<boolean>;
  /**
   * Compares several fields, the revision, or both, and writes several fields if they match, in one step. Returns the
   * current record in either case; after a write, without sealed fields that cannot be opened.
   *
   * @throws `PAYLOAD_TOO_LARGE`. `INVALID_ARGUMENT` if a value is expected of a sealed field.
   *
   * @example
   * await store.kv.put('stock.apple', { left: 3 });
   * for (;;) {
   *   const record = await store.kv.get('stock.apple');
   *   const left = numberOf(record?.fields.left) ?? 0;
   *   const change = { expectedRevision: record?.revision ?? 0, set: { left: left - 1 } };
   *   const { swapped } = await store.kv.swap('stock.apple', change);
   *   if (swapped) break; // Otherwise another writer was faster: read again.
   * }
   */
  swap(key: string, change: KvSwap, options?: CallOptions): Promise<KvSwapResult>;
  /**
   * Writes up to 25 records in one step: all operations, or none if a condition of one of them does not hold. No reader
   * sees only some of them.
   *
   * Each operation has its own key. Keys, field names and values, including expected values, may have at most 1 MiB in
   * total.
   *
   * @throws `UNSUPPORTED` if the store lacks the capability `kv.atomicBatch`. `INVALID_ARGUMENT` for more than 25
   * operations or a repeated key. `PAYLOAD_TOO_LARGE`.
   *
   * @example
   * await store.kv.put('account.ada', { balance: 10 });
   * await store.kv.put('account.bob', { balance: 0 });
   * const result = await store.kv.batch([
   *   { op: 'setFields', key: 'account.ada', expected: { balance: 10 }, fields: { balance: 7 } },
   *   { op: 'setFields', key: 'account.bob', expected: { balance: 0 }, fields: { balance: 3 } },
   *   { op: 'put', key: 'transfer.1', expectedRevision: 0, fields: { amount: 3 } },
   * ]);
   * console.log(result.written ? 'transferred' : `${result.unmet.key} has changed`); // transferred
   */
  batch(operations: readonly KvOperation[], options?: KvBatchOptions): Promise<KvBatchResult>;
  /** Sets a new time to live, or removes it with `null`. Returns whether the record exists. */
  touch(key: string, ttl: Duration | null, options?: KvWriteOptions): Promise<boolean>;
  /**
   * Yields the records whose key starts with the prefix, in byte order of keys, each at most once. `from` and `to`
   * limit the keys further. Reads about as many records as it yields.
   *
   * Omits records that do not match their checksum, and then fails after the last of the others. With `keysOnly` and
   * without a filter, values are not checked.
   *
   * @throws `CORRUPT_VALUE` at the end, if a record was omitted.
   *
   * @example
   * await store.kv.put('user.ada', { age: 36 });
   * await store.kv.put('user.bob', { age: 17 });
   * for await (const { key, record } of store.kv.scan('user.', { field: 'age', op: 'gte', value: 18 })) {
   *   console.log(key, numberOf(record.fields.age)); // user.ada 36
   * }
   *
   * @example
   * for (const day of ['01', '02', '03']) await store.kv.put(`log.2026-01-${day}`, { day });
   * const range = { from: 'log.2026-01-02', reverse: true, keysOnly: true } as const;
   * const keys = await Array.fromAsync(store.kv.scan('log.', undefined, range), ({ key }) => key);
   * console.log(keys.join(' ')); // log.2026-01-03 log.2026-01-02
   */
  scan(
    prefix: string,
    filter: ScanFilter | undefined,
    options: KvScanOptions & { keysOnly: true },
  ): AsyncIterable<KvKey>;
  scan(prefix: string, filter?: ScanFilter, options?: KvScanOptions): AsyncIterable<KvEntry>;
  /**
   * Returns a page of the entries that `scan` yields: 1 to 1 000 matches, default 100. A page ends early after about 4
   * MiB of values. `damaged` lists the keys of records that do not match their checksum.
   *
   * @throws `INVALID_ARGUMENT` for a cursor of a scan in the other direction.
   */
  scanPage(prefix: string, options: KvScanPageOptions & { keysOnly: true }): Promise<Page<KvKey>>;
  scanPage(prefix: string, options?: KvScanPageOptions): Promise<Page<KvEntry>>;
  /**
   * Counts the records whose key starts with the prefix, optionally within a range and with a filter.
   *
   * Looks at up to 100 000 keys, or 10 000 records with a filter, and uses at most half of the call's time. If that is
   * not enough, `count` is a lower bound and `exact` is false. `maxResults` of the filter stops it earlier.
   *
   * @example
   * for (const name of ['ada', 'bob', 'eve']) await store.kv.put(`guest.${name}`, { name });
   * console.log(await store.kv.count('guest.', { from: 'guest.b' })); // { count: 2, exact: true }
   */
  count(prefix: string, options?: KvCountOptions): Promise<KvCount>;
  /**
   * Deletes records whose key starts with the prefix, in byte order of keys: up to `limit` in one step, default 100, at
   * most 1 000. Returns `next` while more records follow.
   *
   * A record that is written after a step has passed its key stays. A retry of a step starts again at the same key and
   * also deletes records written since.
   *
   * @throws `INVALID_ARGUMENT` for an empty prefix, because that would include the library's own records.
   *
   * @example
   * for (const name of ['a', 'b', 'c']) await store.kv.put(`draft.${name}`, { name });
   * let deleted = 0;
   * let cursor: string | undefined;
   * do {
   *   const step = await store.kv.deletePrefix('draft.', { cursor, limit: 2 });
   *   deleted += step.deleted;
   *   cursor = step.next;
   * } while (cursor !== undefined);
   * console.log(deleted); // 3
   */
  deletePrefix(prefix: string, options?: KvDeletePrefixOptions): Promise<KvDeleted>;
  /**
   * Yields changes to records under a prefix, starting with the time of the call. Ends without an error when `signal`
   * aborts or the store is closed.
   *
   * @throws `OVERLOADED` if the reader falls too far behind: scan the prefix and watch again.
   *
   * @example
   * const stop = new AbortController();
   * const changes = store.kv.watch('config.', { signal: stop.signal });
   * await store.kv.put('config.theme', { value: 'dark' });
   * for await (const { key, type, record } of changes) {
   *   console.log(key, type, textOf(record?.fields.value)); // config.theme put dark
   *   stop.abort();
   * }
   */
  watch(prefix: string, options?: CallOptions): AsyncIterable<KvChange>;
}
