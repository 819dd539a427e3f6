/** What all domains share: call options, pages, durations and JSON values. */

/** Options every call takes (GEN-3). */
export interface CallOptions {
  /** Gives up when aborted. A write already under way then ends as `OUTCOME_UNKNOWN`. */
  signal?: AbortSignal;
  /** How long the call may take. Default 5 000 ms, or the store's own `timeoutMs`. */
  timeoutMs?: number;
}

/** A page of a list. `next` is the opaque cursor of the following page, absent on the last one. */
export interface Page<T> {
  items: T[];
  next?: string;
  /** Names of items that do not match their checksum and were left out. Reading one directly fails with `CORRUPT_VALUE`. */
  damaged?: string[];
}

/** Options of calls that give a page. */
export interface PageOptions extends CallOptions {
  /** Where the previous page ended: its `next`. */
  cursor?: string;
  /** How many items at most. */
  limit?: number;
}

/** Milliseconds, or a text such as `'250ms'`, `'90s'`, `'15m'`, `'1h'`, `'7d'`. */
export type Duration = number | string;

/** A value that JSON can carry (GEN-4). */
export type JsonValue = string | number | boolean | null | JsonValue[] | { [key: string]: JsonValue };

/** A JSON object as callers write it: properties that are `undefined` are left out. */
export type JsonObject = Record<string, unknown>;
