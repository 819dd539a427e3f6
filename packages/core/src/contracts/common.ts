/** Types that all domains share: call options, pages, durations and JSON values. */

/** Options that every call accepts. */
export interface CallOptions {
  /**
   * Cancels the call. It fails with `ABORTED`, or with `OUTCOME_UNKNOWN` if a write had already begun. Live iterators
   * end without an error.
   */
  signal?: AbortSignal;
  /**
   * How long the call may take, in milliseconds. After that it fails with `TIMEOUT`, or with `OUTCOME_UNKNOWN` if a
   * write had already begun. Default: the store's own `timeoutMs`, which is 5 000 unless set.
   */
  timeoutMs?: number;
}

/** A page of a list. */
export interface Page<T> {
  items: T[];
  /** The `cursor` of the following page. Absent on the last page. */
  next?: string;
  /**
   * Names of items that do not match their checksum and were omitted. Reading one directly fails with `CORRUPT_VALUE`.
   */
  damaged?: string[];
}

/** Options of calls that return a page. */
export interface PageOptions extends CallOptions {
  /** The `next` of the previous page. Default: the first page. */
  cursor?: string;
  /** The maximum number of items. */
  limit?: number;
}

/** Milliseconds, or a string such as `'250ms'`, `'90s'`, `'15m'`, `'1h'`, `'7d'`. */
export type Duration = number | string;

/** A JSON value. */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** A JSON object as callers write it. Properties that are `undefined` are omitted. */
export type JsonObject = Record<string, unknown>;
