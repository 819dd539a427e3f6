/** KV: records of named byte fields with TTL, compare-and-swap and ordered scans (document 003). */
import type { CallOptions, Duration, Page, PageOptions } from './common.ts';

/** What writers may pass; numbers and booleans are stored as their text (KV-1). */
export type KvValue = string | number | bigint | boolean | Uint8Array;

/** A record as readers get it. */
export interface KvRecord {
  /** Null-prototype object of name to bytes; `textOf` and `numberOf` decode them. */
  fields: Record<string, Uint8Array>;
  /** Milliseconds left to live, absent when it lives for ever. */
  ttl?: number;
  /** Grows with every change of the record and never repeats for a key. */
  revision: number;
}

/** A record with its key. */
export interface KvEntry {
  key: string;
  record: KvRecord;
}

/** Options of writes. */
export interface KvWriteOptions extends CallOptions {
  /**
   * Names the call: retried with the same id, it is not applied again and returns what it returned the first time. An id
   * counts for its key. It is remembered for at least five minutes, whatever becomes of the record, and the last 16 of a
   * key for as long as its record lives.
   */
  requestId?: string;
}

/** What a write tells. */
export interface KvWriteResult {
  written: boolean;
  /** Of the record as it stands now; `null` when there is none. */
  revision: number | null;
}

/** One condition of a scan (KV-4, KV-5). A record without the field matches only `ne`. */
export type KvPredicate =
  | { field: string; op: 'eq' | 'ne' | 'lt' | 'gt' | 'lte' | 'gte'; value: KvValue }
  | { field: string; op: 'in'; value: readonly KvValue[] };

/** One predicate, or several that must all hold; `maxResults` counts matches. */
export type ScanFilter =
  | (KvPredicate & { maxResults?: number })
  | { where?: readonly KvPredicate[]; maxResults?: number };

/** Compare several fields and/or the revision, then write several fields, in one step (KV-3). */
export interface KvSwap {
  /** Fields as they must stand; `null` means absent. */
  expected?: Record<string, KvValue | null>;
  /** The revision the record must have; 0 means that there must be no record. */
  expectedRevision?: number;
  /** Fields to write; `null` removes one. */
  set: Record<string, KvValue | null>;
  /** A new time to live; `null` clears it; absent keeps it. */
  ttl?: Duration | null;
  /** As in `KvWriteOptions`. */
  requestId?: string;
}

/** How a swap went; `record` is what stands now. */
export interface KvSwapResult {
  swapped: boolean;
  record: KvRecord | null;
}

/** A change that `watch` reports. */
export interface KvChange {
  key: string;
  type: 'put' | 'delete' | 'expire';
  record: KvRecord | null;
}

/** Records of fields. */
export interface KvStore {
  get(key: string, options?: CallOptions): Promise<KvRecord | null>;
  /** One answer per key, in order. */
  getMany(keys: readonly string[], options?: CallOptions): Promise<(KvRecord | null)[]>;
  /** Replaces the whole record; without `ttl` it lives for ever (KV-2). */
  put(
    key: string,
    fields: Record<string, KvValue>,
    options?: KvWriteOptions & { ttl?: Duration },
  ): Promise<KvWriteResult>;
  /** Removes the record; returns whether there was one. */
  delete(key: string, options?: KvWriteOptions): Promise<boolean>;
  getField(key: string, field: string, options?: CallOptions): Promise<Uint8Array | null>;
  /** Writes one field and keeps the time to live. `ifExists` refuses to bring back a record that is gone. */
  setField(
    key: string,
    field: string,
    value: KvValue,
    options?: KvWriteOptions & { ifExists?: boolean },
  ): Promise<KvWriteResult>;
  /** Writes several fields at once; `null` removes one; a record whose last field goes is gone. */
  setFields(
    key: string,
    fields: Record<string, KvValue | null>,
    options?: KvWriteOptions & { ifExists?: boolean },
  ): Promise<KvWriteResult>;
  /** Writes `next` if the field has the bytes of `expected`; `null` means absent. */
  compareAndSwap(
    key: string,
    field: string,
    expected: KvValue | null,
    next: KvValue | null,
    options?: KvWriteOptions,
  ): Promise<boolean>;
  swap(key: string, change: KvSwap, options?: CallOptions): Promise<KvSwapResult>;
  /** Sets a new time to live, or with `null` none. Returns whether there is such a record. */
  touch(key: string, ttl: Duration | null, options?: KvWriteOptions): Promise<boolean>;
  /**
   * Records whose key starts with the prefix, in byte order of keys, each at most once. A record that does not match its checksum
   * is left out, and the scan fails with `CORRUPT_VALUE` after the last of the others.
   */
  scan(prefix: string, filter?: ScanFilter, options?: CallOptions): AsyncIterable<KvEntry>;
  /** The same a page at a time: 1 to 1 000 matches, default 100. Keys of damaged records are in `damaged`. */
  scanPage(prefix: string, options?: PageOptions & { filter?: ScanFilter }): Promise<Page<KvEntry>>;
  /** Changes of records under a prefix from now on, until aborted. */
  watch(prefix: string, options?: CallOptions): AsyncIterable<KvChange>;
}
