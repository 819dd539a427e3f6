/**
 * The records primitive: fields with a revision and a time to live, written by one conditional step. KV is
 * this port in the space `kv`; keyed engines also keep the agents' mutable state in it.
 */
import type { EngineCall } from './call.ts';

/** What a record is for; spaces never meet. */
export type RecordSpace =
  | 'kv'
  | 'snapshots'
  | 'bindings'
  | 'pauses'
  | 'memory'
  | 'tasks'
  | 'trajectories'
  | 'sessions'
  | 'artifacts'
  /** Which runs are quarantined: one record for the store. */
  | 'quarantines'
  /** What requests were answered, beside the records they changed. */
  | 'requests';

/** Where a record is. */
export interface RecordName {
  space: RecordSpace;
  tenantId: string;
  key: string;
}

export type Fields = ReadonlyMap<string, Uint8Array>;

/** A record as an engine keeps it. */
export interface StoredRecord {
  fields: Fields;
  revision: number;
  /** Milliseconds left to live when it was read; `null` lives for ever. */
  ttlMs: number | null;
}

/** A record with its key. */
export interface ScannedRecord extends StoredRecord {
  key: string;
  /** The stored record does not match its checksum: it has no fields here, and `get` fails with `CORRUPT_VALUE`. */
  damaged?: true;
  /** It was stored before there were checksums, by which nobody can tell whether it is what was stored. */
  unsummed?: true;
}

/** One conditional step on one record. */
export interface RecordWrite {
  name: RecordName;
  /** All must hold, else nothing is written. */
  expect?: {
    exists?: boolean;
    /** 0 means that there must be no record. */
    revision?: number;
    /** `null` means that the field must be absent. */
    fields?: ReadonlyMap<string, Uint8Array | null>;
  };
  /** `merge` changes the named fields, `replace` drops all others, `delete` removes the record. */
  mode: 'merge' | 'replace' | 'delete';
  set: ReadonlyMap<string, Uint8Array | null>;
  /** Fields set to the engine's own time at the step, in milliseconds as decimal text, plus so many milliseconds. */
  stamps?: ReadonlyMap<string, number>;
  /** Milliseconds to live from now; `null` clears it; absent keeps it (`replace`: clears it). */
  ttlMs?: number | null;
  /**
   * Remembered with the key: the same step is not applied twice, and is answered as the first time, for at least
   * `REQUEST_KEPT_MS` and for the last `REMEMBERED_REQUESTS` of a key while its record lives (GEN-8).
   */
  requestId?: string;
  /** The request id was made for this very call, so that nothing can have been answered under it. */
  requestIsNew?: boolean;
  /** The caller needs no fields back: the record of the outcome may come without them. */
  brief?: boolean;
}

/** How a step went. */
export interface RecordOutcome {
  applied: boolean;
  /** Of the record as it stands after the step; `null` when there is none. */
  record: StoredRecord | null;
  /** Whether there was a record before the step; of a removal that was answered before, whether there was one then. */
  existed: boolean;
}

/** A change that `waitForChanges` reports. */
export interface RecordChange {
  key: string;
  type: 'put' | 'delete' | 'expire';
  record: StoredRecord | null;
}

/** A record with one of its places in the index. */
export interface PlacedRecord extends ScannedRecord {
  place: string;
}

/** How many request ids a record holds. */
export const REMEMBERED_REQUESTS = 16;

/** How long a request id is remembered at least, after the write and after it was pushed out of its record or deleted with it. */
export const REQUEST_KEPT_MS = 300_000;

/** Places of records from one on and below another, or after a record. */
export interface PlaceRange {
  from: string;
  to: string;
  after?: { place: string; key: string };
  limit: number;
}

export interface Records {
  /** Fails with `CORRUPT_VALUE` when one of the records does not match its checksum, as every step that reads it does. */
  get(names: readonly RecordName[], call: EngineCall): Promise<(StoredRecord | null)[]>;
  /** One field of a record, `null` when there is none. */
  getField(name: RecordName, field: string, call: EngineCall): Promise<Uint8Array | null>;
  /** One conditional step. */
  write(write: RecordWrite, call: EngineCall): Promise<RecordOutcome>;
  /**
   * Several writes in one step, all or none, for records of one tenant; gives the outcome of each, `applied`
   * being the same for all. Engines without such a step see to the conditions first, apply the writes one after the
   * other, and stop at the first one that does not apply.
   */
  batch(writes: readonly RecordWrite[], call: EngineCall): Promise<RecordOutcome[]>;
  /** Live records in byte order of keys, after `after` (exclusive). One that is damaged is among them, marked so. */
  scan(
    space: RecordSpace,
    tenantId: string,
    range: { prefix: string; after: string | null; limit: number },
    call: EngineCall,
  ): Promise<ScannedRecord[]>;
  /**
   * Keys from after `after` up to `to` that have a field whose own checksum is wrong; for engines that keep one beside that of
   * the record. `scan` looks at the record's.
   */
  damagedFields?(tenantId: string, range: { after: string | null; to: string }, call: EngineCall): Promise<string[]>;
  /**
   * Live records of `kv` by the places `placesOf` gives them, in byte order of (place, key), each place once: from
   * `from` on and below `to`, or after one that is known. The index follows every write in the same step, whoever made
   * it, and is read without touching anything outside the range.
   */
  scanPlaces(tenantId: string, range: PlaceRange, call: EngineCall): Promise<PlacedRecord[]>;
  /** The engine's clock, by which records expire; leases are measured on it. */
  now(call: EngineCall): Promise<number>;
  /** Changes under a prefix from now on, until the signal aborts. */
  watch(space: RecordSpace, tenantId: string, prefix: string, signal: AbortSignal): AsyncIterable<RecordChange>;
  /** Physically removes up to `limit` expired records, or request ids that need not be remembered; gives how many. */
  removeExpired(limit: number, call: EngineCall): Promise<number>;
  /** Tenants that have a record of a space, expired or not, in byte order, after one of them. */
  tenants(space: RecordSpace, after: string | null, limit: number, call: EngineCall): Promise<string[]>;
  /**
   * Physically removes up to `limit` records of a tenant, expired or not, with their indexes; gives their keys, none
   * when nothing is left, not even a request id.
   */
  erase(space: RecordSpace, tenantId: string, limit: number, call: EngineCall): Promise<string[]>;
}
