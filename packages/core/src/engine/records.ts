/**
 * The records primitive: named fields with a revision and a time to live, written in one conditional step. KV is this
 * port in the space `kv`. Keyed engines also store the agents' mutable state in it.
 */
import type { EngineCall } from './call.ts';

/** The purpose of a record. Spaces are independent of each other. */
export type RecordSpace =
  | 'kv'
  | 'snapshots'
  | 'bindings'
  /** The bindings that a router's session may have. */
  | 'bindingSessions'
  | 'pauses'
  | 'memory'
  | 'tasks'
  | 'trajectories'
  | 'sessions'
  | 'artifacts'
  /** Quarantined runs: one record per store. */
  | 'quarantines'
  /** Outcomes of requests, stored apart from the records they changed. */
  | 'requests';

/** The address of a record. */
export interface RecordName {
  space: RecordSpace;
  tenantId: string;
  key: string;
}

export type Fields = ReadonlyMap<string, Uint8Array>;

/** A stored record. */
export interface StoredRecord {
  fields: Fields;
  revision: number;
  /** Milliseconds left to live when it was read; `null` means that it does not expire. */
  ttlMs: number | null;
}

/** A record with its key. */
export interface ScannedRecord extends StoredRecord {
  key: string;
  /** The stored record does not match its checksum. It has no fields here, and `get` fails with `CORRUPT_VALUE`. */
  damaged?: true;
  /** The record was stored before checksums existed, so damage to it cannot be detected. */
  unsummed?: true;
}

/** One conditional step on one record. */
export interface RecordWrite {
  name: RecordName;
  /** Conditions. Unless all hold, nothing is written. */
  expect?: {
    exists?: boolean;
    /** 0 means that the record must be absent. */
    revision?: number;
    /** `null` means that the field must be absent. */
    fields?: ReadonlyMap<string, Uint8Array | null>;
  };
  /** `merge` changes the named fields, `replace` drops all others, `delete` removes the record. */
  mode: 'merge' | 'replace' | 'delete';
  set: ReadonlyMap<string, Uint8Array | null>;
  /** Fields to set to the engine's time at this step plus the given milliseconds, as decimal text in milliseconds. */
  stamps?: ReadonlyMap<string, number>;
  /**
   * Milliseconds to live from now. `null` clears the time to live. If absent, `replace` clears it and the other modes
   * keep it.
   */
  ttlMs?: number | null;
  /**
   * Remembered with the key: a step with the same id is not applied twice and returns the first outcome. Kept for at
   * least `REQUEST_KEPT_MS`, and for the last `REMEMBERED_REQUESTS` of a key while its record exists (GEN-8).
   */
  requestId?: string;
  /** The request id was generated for this call, so no outcome can be stored under it. */
  requestIsNew?: boolean;
  /**
   * Sets the field `answer` to the outcomes of the writes before this one in the batch, in the form of `batchAnswer`.
   * Only on engines whose batches are one step.
   */
  answersBatch?: true;
  /** The caller does not need the fields: the outcome's record may omit them. */
  brief?: boolean;
  /**
   * The record as the caller saw it last. If the step finds this revision, the engine may compute the outcome's record
   * from it instead of reading the fields.
   */
  known?: StoredRecord;
}

/** The outcome of a step. */
export interface RecordOutcome {
  applied: boolean;
  /** The record after the step; `null` when there is no record. */
  record: StoredRecord | null;
  /** Whether the record existed before the step. On a retry of a removal: whether it existed at the first attempt. */
  existed: boolean;
}

/** A change that `watch` reports. */
export interface RecordChange {
  key: string;
  type: 'put' | 'delete' | 'expire';
  record: StoredRecord | null;
}

/** A record with one of its index keys. */
export interface IndexedRecord extends ScannedRecord {
  indexKey: string;
}

/** How many request ids a record remembers. */
export const REMEMBERED_REQUESTS = 16;

/**
 * The minimum time for which a request id is remembered after its write, and after its record drops it or is deleted.
 */
export const REQUEST_KEPT_MS = 300_000;

/** A range of index keys: `from` is inclusive, `to` is exclusive. With `after`, starts after that record. */
export interface IndexRange {
  from: string;
  to: string;
  after?: { indexKey: string; key: string };
  limit: number;
}

/** Claims of jobs that the engine performs without the caller, who learns only afterwards which jobs they got. */
export interface FirstClaims {
  taskType: string;
  /** Index keys that end with a time. If the first of them is due, nothing is written. `null` skips this check. */
  due: Pick<IndexRange, 'from' | 'to'> | null;
  /** Index keys of jobs in the order in which the writes get them. All of them have this state. */
  ready: Pick<IndexRange, 'from' | 'to'> & { state: string };
  writes: readonly FirstClaim[];
}

/** A write that is applied to the first record of the index that no earlier write got. */
export interface FirstClaim extends Pick<RecordWrite, 'set' | 'stamps' | 'ttlMs' | 'requestId'> {
  /** Nothing is written if this record exists. */
  unless: RecordName;
}

export interface FirstClaimed {
  /** The first record of `due` is due, or cannot be read; nothing was written. */
  isDue: boolean;
  /** Reading stopped before the end of the index, so a write without a record may find one in a scan. */
  isCut: boolean;
  /** The record that each write got, after the write; `null` if it got none. */
  outcomes: readonly (ScannedRecord | Error | null)[];
}

/** Records to scan: keys with a prefix, within a range, starting at a position. */
export interface ScanRange {
  prefix: string;
  /** The last key that the caller has seen: the scan continues with the key above it, or below it if `reverse`. */
  after: string | null;
  /** The lowest key, inclusive. */
  from?: string;
  /** The highest key, exclusive. */
  to?: string;
  /** Lists keys in descending order. */
  reverse?: boolean;
  /** Returns keys alone: fields are empty, revision and TTL are unspecified, and damage to fields is not detected. */
  keysOnly?: boolean;
  limit: number;
}

export interface Records {
  /** Reads records. Like every step that reads one, fails with `CORRUPT_VALUE` when one does not match its checksum. */
  get(names: readonly RecordName[], call: EngineCall): Promise<(StoredRecord | null)[]>;
  /** Returns one field of a record, `null` when the record or the field is absent. */
  getField(name: RecordName, field: string, call: EngineCall): Promise<Uint8Array | null>;
  /** Performs one conditional step. */
  write(write: RecordWrite, call: EngineCall): Promise<RecordOutcome>;
  /**
   * Performs several writes on records of one tenant in one step, all or none. Returns the outcome of each; `applied`
   * is the same for all. Engines without such a step check the conditions first, apply the writes one by one, and stop
   * at the first that does not apply. They may apply deletions without conditions in any order.
   */
  batch(writes: readonly RecordWrite[], call: EngineCall): Promise<RecordOutcome[]>;
  /**
   * Lists live records in byte order of keys, ascending or descending. Returns fewer than `limit` only at the end of
   * the range. Includes damaged records, marked `damaged`. `boundsOf` computes the bounds of a range.
   */
  scan(space: RecordSpace, tenantId: string, range: ScanRange, call: EngineCall): Promise<ScannedRecord[]>;
  /**
   * Lists keys after `after`, up to and including `to`, that have a field whose own checksum is wrong. Only for engines
   * that store checksums per field; `scan` checks the record's checksum.
   */
  damagedFields?(tenantId: string, range: { after: string | null; to: string }, call: EngineCall): Promise<string[]>;
  /**
   * Lists live records of `kv` by the index keys that `indexKeysOf` returns for them, in byte order of (index key,
   * record key), each index key once, within the range. The engine updates the index in the same step as every write,
   * including plain KV writes, and reads nothing outside the range.
   */
  scanIndex(tenantId: string, range: IndexRange, call: EngineCall): Promise<IndexedRecord[]>;
  /**
   * Finds records by their index keys and writes the first of them, all in one round trip. Keeps the errors of different
   * writes apart. A record whose checksum turns out to be wrong is written, and returned as `damaged`. Only for engines
   * whose server can run such a step.
   */
  claimFirst?(tenantId: string, step: FirstClaims, call: EngineCall): Promise<FirstClaimed>;
  /**
   * Waits for the claims of a type that `claimFirst` has begun. Later ones find every `unless` record that was stored
   * before. Only for engines on which `claimFirst` may read before it writes.
   */
  awaitClaims?(tenantId: string, taskType: string, call: EngineCall): Promise<void>;
  /** Returns the engine's clock, by which records expire and leases are measured. */
  now(call: EngineCall): Promise<number>;
  /** Yields changes under a prefix, starting now, until the signal aborts. */
  watch(space: RecordSpace, tenantId: string, prefix: string, signal: AbortSignal): AsyncIterable<RecordChange>;
  /** Physically removes up to `limit` expired records or expired request ids. Returns how many it removed. */
  removeExpired(limit: number, call: EngineCall): Promise<number>;
  /** Lists tenants that have a record in a space, expired or not, in byte order, after a given one. */
  tenants(space: RecordSpace, after: string | null, limit: number, call: EngineCall): Promise<string[]>;
  /**
   * Physically removes up to `limit` records of a tenant, expired or not, with their index entries, and returns their
   * keys. Returns none only when nothing is left, not even a request id.
   */
  erase(space: RecordSpace, tenantId: string, limit: number, call: EngineCall): Promise<string[]>;
}
