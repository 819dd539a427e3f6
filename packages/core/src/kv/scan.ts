/** Scans: validates options, and reads about as many records as the caller needs (KV-4). */
import { decodeCursor, encodeCursor } from '../checks/json.ts';
import { checkKeyRange } from '../checks/key-range.ts';
import { checkOptionalBoolean, checkPrefix } from '../checks/text.ts';
import type { KvKeyRange, KvScanOptions, ScanFilter } from '../contracts/kv.ts';
import type { EngineCall } from '../engine/call.ts';
import type { Records, ScannedRecord, ScanRange } from '../engine/records.ts';
import { checkFilter, matchesFilter, type RecordFilter } from './filter.ts';

/** The number of records to read first, when their size is unknown and the caller may need only a few. */
const FIRST_STEP = 16;
const MAX_STEP = 200;
const MAX_STEP_OF_KEYS = 1_000;
/** The approximate maximum size of the fields read by a later step. */
const STEP_BYTES = 4 * 1024 * 1024;
/** The factor by which steps grow while the filter rejects records. */
const GROWTH = 4;

/** A scan with checked options. */
export interface ScanPlan {
  range: Omit<ScanRange, 'after' | 'limit'>;
  filter: RecordFilter;
  /** The caller gets keys without records. Fields are read only for the filter. */
  keysOnly: boolean;
}

type ScanInput = KvKeyRange & Pick<KvScanOptions, 'reverse' | 'keysOnly'>;

export function planScan(
  prefix: string,
  filter: ScanFilter | undefined,
  options: ScanInput | undefined,
  fieldBytes: number,
): ScanPlan {
  const checked = checkFilter(filter, fieldBytes);
  const keysOnly = checkOptionalBoolean(options?.keysOnly, 'keysOnly');
  const reverse = checkOptionalBoolean(options?.reverse, 'reverse');
  const isOnlyKeys = keysOnly && checked.predicates.length === 0;
  const range: ScanPlan['range'] = { prefix: checkPrefix(prefix, 'prefix'), reverse, keysOnly: isOnlyKeys };
  return { range: options ? Object.assign(range, checkKeyRange(options)) : range, filter: checked, keysOnly };
}

/** Reads a scan in steps. */
export class ScanReader {
  readonly #records: Records;
  readonly #tenantId: string;
  readonly #plan: ScanPlan;
  #after: string | null;
  #last = 0;
  #mostByBytes = FIRST_STEP;
  #ended = false;

  constructor(records: Records, tenantId: string, plan: ScanPlan, after: string | null = null) {
    this.#records = records;
    this.#tenantId = tenantId;
    this.#plan = plan;
    this.#after = after;
  }

  /** Whether all records of the range have been read. */
  get ended(): boolean {
    return this.#ended;
  }

  matches(row: ScannedRecord): boolean {
    return matchesFilter(row.fields, this.#plan.filter);
  }

  /** Reads the next records for a caller that needs `needed` more matches. */
  async next(needed: number, call: EngineCall): Promise<ScannedRecord[]> {
    const limit = this.#stepFor(needed);
    const range = { ...this.#plan.range, after: this.#after, limit };
    const rows = await this.#records.scan('kv', this.#tenantId, range, call);
    this.#ended = rows.length < limit;
    this.#after = rows.at(-1)?.key ?? this.#after;
    this.#last = limit;
    if (this.#ended) return rows;
    const bytes = rows.reduce((sum, row) => sum + bytesOf(row), 0);
    this.#mostByBytes = Math.max(1, Math.floor((STEP_BYTES * rows.length) / Math.max(1, bytes)));
    return rows;
  }

  #stepFor(needed: number): number {
    if (this.#plan.range.keysOnly) return Math.min(needed, MAX_STEP_OF_KEYS);
    const dropsRows = this.#plan.filter.predicates.length > 0;
    const wanted = dropsRows ? Math.max(needed, this.#last * GROWTH) : needed;
    return Math.min(this.#last === 0 ? needed : wanted, this.#mostByBytes, MAX_STEP);
  }
}

/** Returns the size of a record's fields. */
export function bytesOf({ fields }: ScannedRecord): number {
  let bytes = 0;
  for (const value of fields.values()) bytes += value.length;
  return bytes;
}

/** The position after a page: its last key, and the number of matches on all pages so far. */
interface ScanPosition {
  after: string | null;
  seen: number;
}

/** Returns the position of a cursor. Refuses a cursor of a scan in the other direction. */
export function positionOf(cursor: string | undefined, reverse: boolean): ScanPosition {
  if (cursor === undefined) return { after: null, seen: 0 };
  const isOurs = (values: unknown[]) =>
    values.length === (reverse ? 3 : 2) &&
    typeof values[0] === 'string' &&
    Number.isSafeInteger(values[1]) &&
    (!reverse || values[2] === REVERSE);
  const [after, seen] = decodeCursor<[string, number]>(cursor, isOurs);
  return { after, seen };
}

/** Cursors of ascending scans have no marker, as in version 0.1. */
const REVERSE = 'reverse';

export function cursorOf(after: string, seen: number, reverse: boolean): string {
  return encodeCursor(reverse ? [after, seen, REVERSE] : [after, seen]);
}
