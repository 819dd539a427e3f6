/**
 * An in-memory index of the keys of all records, with the data that scans, jobs and expiry need. It follows the stream
 * and takes about 200 bytes per key.
 */
import {
  boundsOf,
  compareKeys,
  type EngineCall,
  type IndexRange,
  keysWithin,
  type RecordName,
  type RecordSpace,
  type ScannedRecord,
  type ScanRange,
  SortedKeys,
} from '@tidemark/core/engine';
import type { Link } from '../connection/link.ts';
import { HEADER } from '../messages/headers.ts';
import type { Messages, StoredMessage } from '../messages/messages.ts';
import { Mirror } from '../streams/mirror.ts';
import { nameOfSubject } from '../streams/subjects.ts';
import { readRecordHead } from './record-messages.ts';

interface Row {
  revision: number;
  expiresAt: number | null;
  indexKeys: string[];
  hasRequests: boolean;
}

interface Table {
  rows: Map<string, Row>;
  keys: SortedKeys;
  /** Index entries of jobs, each with its key. */
  indexKeys: SortedKeys;
}

/** The delete marker of a record, kept until every mirror is sure to have received it. */
interface DeleteMarker {
  name: RecordName;
  subject: string;
  seq: number;
  at: number;
}

/** Twice as long as a mirror may be disconnected without starting over. */
const KEEP_MARKERS_MS = 60 * 60_000;
const TIME_DIGITS = 16;
const NO_FIELDS: ReadonlyMap<string, Uint8Array> = new Map();

export class RecordMirror {
  readonly #messages: Messages;
  readonly #mirror: Mirror;
  readonly #clock: () => number;
  readonly #tables = new Map<string, Table>();
  /** Expiry, table and key of every record that expires. */
  readonly #expiries = new SortedKeys();
  #markers: DeleteMarker[] = [];

  constructor(link: Link, messages: Messages, clock: () => number) {
    this.#messages = messages;
    this.#clock = clock;
    this.#mirror = new Mirror(
      link,
      messages,
      (message) => this.#take(message),
      () => this.#forget(),
    );
  }

  caughtUp(call: EngineCall): Promise<void> {
    return this.#mirror.caughtUp(call);
  }

  stop(): void {
    this.#mirror.stop();
  }

  /** Whether the mirror is running, in which case catching up costs one request. */
  get started(): boolean {
    return this.#mirror.started;
  }

  /** Returns the current revision of a record, or 0 when there is none. */
  revisionOf({ space, tenantId, key }: RecordName): number {
    return this.#tables.get(tableId(space, tenantId))?.rows.get(key)?.revision ?? 0;
  }

  /** Returns up to `count` live records of a range, without their fields. */
  keys(space: RecordSpace, tenantId: string, range: Omit<ScanRange, 'limit'>, count: number): ScannedRecord[] {
    const table = this.#tables.get(tableId(space, tenantId));
    if (!table) return [];
    const now = this.#clock();
    const found: ScannedRecord[] = [];
    for (const key of keysWithin(table.keys, boundsOf(range), range.reverse)) {
      const { revision, expiresAt } = table.rows.get(key)!;
      if (expiresAt !== null && expiresAt <= now) continue;
      found.push({ key, fields: NO_FIELDS, revision, ttlMs: expiresAt === null ? null : expiresAt - now });
      if (found.length === count) break;
    }
    return found;
  }

  /** Returns up to `count` index entries of live jobs, from `from` up to but excluding `to`, or after a given entry. */
  indexKeys(tenantId: string, range: Omit<IndexRange, 'limit'>, count: number): { indexKey: string; key: string }[] {
    const table = this.#tables.get(tableId('kv', tenantId));
    const start = range.after ? entryOf(range.after.indexKey, range.after.key) : range.from;
    const found: { indexKey: string; key: string }[] = [];
    for (const entry of table?.indexKeys.from(start) ?? []) {
      const [indexKey, key] = entry.split('\0') as [string, string];
      if (compareKeys(indexKey, range.to) >= 0) break;
      if ((range.after && entry === start) || !this.#isLive(table!, key)) continue;
      found.push({ indexKey, key });
      if (found.length === count) break;
    }
    return found;
  }

  /** Returns up to `count` expired records. */
  expired(count: number): { name: RecordName; revision: number; hasRequests: boolean }[] {
    const now = this.#clock();
    const found: ReturnType<RecordMirror['expired']> = [];
    for (const entry of this.#expiries.from('')) {
      if (found.length === count || Number(entry.slice(0, TIME_DIGITS)) > now) break;
      const [, space, tenantId, key] = entry.split('\0') as [string, RecordSpace, string, string];
      const { revision, hasRequests } = this.#tables.get(tableId(space, tenantId))!.rows.get(key)!;
      found.push({ name: { space, tenantId, key }, revision, hasRequests });
    }
    return found;
  }

  /** Returns the tenants that have a record in a space. */
  tenants(space: RecordSpace): string[] {
    const tables = [...this.#tables].filter(([, table]) => table.rows.size > 0);
    const ids = tables.map(([id]) => id.split('\0') as [RecordSpace, string]);
    return ids.filter(([of]) => of === space).map(([, tenantId]) => tenantId);
  }

  /** Returns up to `count` records of a tenant, expired or not. */
  records(space: RecordSpace, tenantId: string, count: number): { key: string; revision: number }[] {
    const rows = this.#tables.get(tableId(space, tenantId))?.rows ?? new Map<string, Row>();
    return Array.from(rows, ([key, { revision }]) => ({ key, revision })).slice(0, count);
  }

  /** Returns the delete markers of keys with a prefix. */
  markersUnder(space: RecordSpace, tenantId: string, prefix: string): readonly { subject: string; seq: number }[] {
    const isOurs = ({ name }: DeleteMarker) =>
      name.space === space && name.tenantId === tenantId && name.key.startsWith(prefix);
    return this.#markers.filter(isOurs);
  }

  /** Removes up to `count` delete markers that are no longer needed and returns their number. */
  async removeMarkers(count: number, call: EngineCall): Promise<number> {
    const old = this.#markers.slice(0, count).filter(({ at }) => at < Date.now() - KEEP_MARKERS_MS);
    for (const { subject, seq } of old) await this.#messages.purge(subject, seq + 1, call);
    this.#markers = this.#markers.slice(old.length);
    return old.length;
  }

  #isLive(table: Table, key: string): boolean {
    const { expiresAt } = table.rows.get(key)!;
    return expiresAt === null || expiresAt > this.#clock();
  }

  #take({ subject, seq, headers }: StoredMessage): void {
    const { space, tenantId, name: key } = nameOfSubject(this.#messages.subject, subject, headers[HEADER.name]);
    const id = tableId(space as RecordSpace, tenantId);
    const table = this.#tables.get(id) ?? { rows: new Map(), keys: new SortedKeys(), indexKeys: new SortedKeys() };
    this.#tables.set(id, table);
    this.#drop(id, table, key);
    const { end, expiresAt, indexKeys, hasRequests } = readRecordHead(headers);
    if (end !== null) {
      table.keys.delete(key);
      if (table.rows.size === 0) this.#tables.delete(id);
      this.#markers.push({ name: { space: space as RecordSpace, tenantId, key }, subject, seq, at: Date.now() });
      return;
    }
    table.rows.set(key, { revision: seq, expiresAt, indexKeys, hasRequests });
    table.keys.add(key);
    for (const indexKey of indexKeys) table.indexKeys.add(entryOf(indexKey, key));
    if (expiresAt !== null) this.#expiries.add(expiryOf(expiresAt, id, key));
  }

  #drop(id: string, table: Table, key: string): void {
    const row = table.rows.get(key);
    if (!row) return;
    table.rows.delete(key);
    for (const indexKey of row.indexKeys) table.indexKeys.delete(entryOf(indexKey, key));
    if (row.expiresAt !== null) this.#expiries.delete(expiryOf(row.expiresAt, id, key));
  }

  #forget(): void {
    for (const [id, table] of this.#tables) for (const key of [...table.rows.keys()]) this.#drop(id, table, key);
    this.#tables.clear();
    this.#markers = [];
  }
}

/** NUL separates the ids, because it does not occur in them and sorts first. */
function tableId(space: RecordSpace, tenantId: string): string {
  return `${space}\0${tenantId}`;
}

function entryOf(indexKey: string, key: string): string {
  return `${indexKey}\0${key}`;
}

function expiryOf(expiresAt: number, table: string, key: string): string {
  return `${String(expiresAt).padStart(TIME_DIGITS, '0')}\0${table}\0${key}`;
}
