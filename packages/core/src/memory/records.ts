/** The records primitive in memory. Every step runs synchronously, which makes it atomic. */

import {
  type Fields,
  type IndexedRecord,
  type IndexRange,
  REQUEST_KEPT_MS,
  type RecordChange,
  type RecordName,
  type RecordOutcome,
  type RecordSpace,
  type Records,
  type RecordWrite,
  type ScannedRecord,
  type ScanRange,
  type StoredRecord,
} from '../engine/records.ts';
import { indexKeysOf } from '../jobs/index-keys.ts';
import { withAnswer } from '../kv/batch-answers.ts';
import { meets, type RecordState, recordAfter } from '../kv/conditions.ts';
import { boundsOf, keysWithin } from '../kv/key-bounds.ts';
import { compareKeys, firstAfter } from '../kv/order.ts';
import { requestName, requestPrefix, requestsAfter } from '../kv/requests.ts';
import type { StoreContext } from '../tools/context.ts';
import { SortedKeys } from './sorted-keys.ts';
import { ChangeQueue } from './watch.ts';

interface Row extends RecordState {
  /** The last requests that changed the record, oldest first. */
  requests: readonly string[];
}

interface Table {
  space: RecordSpace;
  tenantId: string;
  rows: Map<string, Row>;
  keys: SortedKeys;
  /** Index keys of jobs with their record keys, as `indexEntry` joins them. */
  indexKeys: SortedKeys;
  watchers: Set<{ prefix: string; queue: ChangeQueue }>;
}

const NO_FIELDS: Fields = new Map();

export class MemoryRecords implements Records {
  readonly #context: StoreContext;
  readonly #tables = new Map<string, Table>();
  #revision = 0;

  constructor(context: StoreContext) {
    this.#context = context;
  }

  async get(names: readonly RecordName[]): Promise<(StoredRecord | null)[]> {
    return names.map((name) => {
      const row = this.#live(name);
      return row ? this.#copy(row) : null;
    });
  }

  async getField(name: RecordName, field: string): Promise<Uint8Array | null> {
    return this.#live(name)?.fields.get(field) ?? null;
  }

  async write(write: RecordWrite): Promise<RecordOutcome> {
    const before = this.#live(write.name);
    const answered = this.#isAnswered(write, before);
    const applied = answered || meets(write, before);
    const after = applied && !answered ? this.#change(write, before) : before;
    return this.#outcomeOf(write, { applied, answered, before, after });
  }

  async batch(writes: readonly RecordWrite[]): Promise<RecordOutcome[]> {
    return this.apply(writes);
  }

  /** Whether the conditions of all writes hold now. */
  holds(writes: readonly RecordWrite[]): boolean {
    return writes.every((write) => meets(write, this.#live(write.name)));
  }

  /** Applies a `batch` synchronously. */
  apply(writes: readonly RecordWrite[]): RecordOutcome[] {
    const rows = writes.map((write) => this.#live(write.name));
    const answered = writes.map((write, at) => this.#isAnswered(write, rows[at]));
    const holds = writes.every((write, at) => answered[at] || meets(write, rows[at]));
    const outcomes: RecordOutcome[] = [];
    for (const [at, write] of writes.entries()) {
      const before = rows[at];
      const changes = holds && !answered[at];
      const after = changes ? this.#change(withAnswer(write, outcomes), before) : this.#live(write.name);
      outcomes.push(this.#outcomeOf(write, { applied: holds, answered: answered[at]!, before, after }));
    }
    return outcomes;
  }

  #outcomeOf(
    { mode, brief }: RecordWrite,
    {
      applied,
      answered,
      before,
      after,
    }: { applied: boolean; answered: boolean; before: Row | undefined; after: Row | undefined },
  ): RecordOutcome {
    const existed = before !== undefined || (answered && mode === 'delete');
    return { applied, record: after ? this.#copy(after, brief) : null, existed };
  }

  #isAnswered({ name, requestId, requestIsNew }: RecordWrite, row: Row | undefined): boolean {
    if (requestId === undefined || requestIsNew) return false;
    return row?.requests.includes(requestId) || this.#live(requestName(name, requestId)) !== undefined;
  }

  #change(write: RecordWrite, before: Row | undefined): Row | undefined {
    const table = this.#table(write.name.space, write.name.tenantId);
    const { key } = write.name;
    const now = this.#context.clock();
    const state = recordAfter(write, before, this.#revision + 1, now);
    if (!state && !before) return undefined;
    const { held, left } = requestsAfter(before?.requests ?? [], write.requestId, state !== null);
    this.#keepRequests(table, key, left, now + REQUEST_KEPT_MS);
    if (!state) {
      this.#drop(table, key, 'delete');
      return undefined;
    }
    const row = { ...state, requests: held };
    this.#revision = row.revision;
    if (!table.rows.has(key)) table.keys.add(key);
    this.#removeFromIndex(table, key);
    table.rows.set(key, row);
    if (write.name.space === 'kv')
      for (const indexKey of indexKeysOf(key, row.fields)) table.indexKeys.add(indexEntry(indexKey, key));
    if (table.watchers.size > 0) this.#report(table, { key, type: 'put', record: this.#copy(row) });
    return row;
  }

  async scan(space: RecordSpace, tenantId: string, range: ScanRange): Promise<ScannedRecord[]> {
    const table = this.#table(space, tenantId);
    const found: ScannedRecord[] = [];
    for (const key of keysWithin(table.keys, boundsOf(range), range.reverse)) {
      const row = table.rows.get(key)!;
      if (this.#isExpired(row)) continue;
      const fields = range.keysOnly ? NO_FIELDS : new Map(row.fields);
      found.push({ key, fields, revision: row.revision, ttlMs: this.#ttlOf(row) });
      if (found.length === range.limit) break;
    }
    return found;
  }

  async scanIndex(tenantId: string, range: IndexRange): Promise<IndexedRecord[]> {
    const table = this.#table('kv', tenantId);
    const start = range.after ? indexEntry(range.after.indexKey, range.after.key) : range.from;
    const found: IndexedRecord[] = [];
    for (const entry of table.indexKeys.from(start)) {
      const [indexKey, key] = entry.split('\0') as [string, string];
      if (compareKeys(indexKey, range.to) >= 0) break;
      const row = table.rows.get(key)!;
      if (entry === start || this.#isExpired(row)) continue;
      found.push({ indexKey, key, ...this.#copy(row) });
      if (found.length === range.limit) break;
    }
    return found;
  }

  async now(): Promise<number> {
    return this.#context.clock();
  }

  watch(space: RecordSpace, tenantId: string, prefix: string, signal: AbortSignal): AsyncIterable<RecordChange> {
    const { watchers } = this.#table(space, tenantId);
    const watcher = { prefix, queue: new ChangeQueue(signal) };
    watchers.add(watcher);
    const stop = () => watchers.delete(watcher);
    signal.addEventListener('abort', stop, { once: true });
    return withCleanup(watcher.queue.changes(), stop);
  }

  async removeExpired(limit: number): Promise<number> {
    let removed = 0;
    for (const table of this.#tables.values()) {
      for (const [key, row] of table.rows) {
        if (removed === limit) return removed;
        if (!this.#isExpired(row)) continue;
        this.#expire(table, key, row);
        removed++;
      }
    }
    return removed;
  }

  async tenants(space: RecordSpace, after: string | null, limit: number): Promise<string[]> {
    const found: string[] = [];
    for (const [id, table] of this.#tables) {
      const [tableSpace, tenantId] = id.split('\0') as [RecordSpace, string];
      if (tableSpace === space && table.rows.size > 0) found.push(tenantId);
    }
    return firstAfter(found, after, limit);
  }

  async erase(space: RecordSpace, tenantId: string, limit: number): Promise<string[]> {
    const table = this.#table(space, tenantId);
    const keys = [...table.rows.keys()].slice(0, limit);
    for (const key of keys) this.#drop(table, key, 'delete');
    if (keys.length === 0) this.#forgetRequests(space, tenantId);
    if (table.rows.size === 0 && table.watchers.size === 0) this.#tables.delete(idOf(space, tenantId));
    return keys;
  }

  #expire(table: Table, key: string, { requests, expiresAt }: Row): void {
    this.#keepRequests(table, key, requests, expiresAt! + REQUEST_KEPT_MS);
    this.#drop(table, key, 'expire');
  }

  /** Remembers request ids that their record drops. */
  #keepRequests({ space, tenantId }: Table, key: string, requests: readonly string[], until: number): void {
    if (requests.length === 0 || until <= this.#context.clock()) return;
    const table = this.#table('requests', tenantId);
    for (const requestId of requests) {
      const name = requestName({ space, tenantId, key }, requestId);
      table.rows.set(name.key, { fields: new Map(), revision: 0, expiresAt: until, requests: [] });
      table.keys.add(name.key);
    }
  }

  #forgetRequests(space: RecordSpace, tenantId: string): void {
    const table = this.#table('requests', tenantId);
    const prefix = requestPrefix(space);
    for (const key of [...table.rows.keys()]) if (key.startsWith(prefix)) this.#drop(table, key, 'delete');
  }

  #drop(table: Table, key: string, type: 'delete' | 'expire'): void {
    this.#removeFromIndex(table, key);
    if (!table.rows.delete(key)) return;
    table.keys.delete(key);
    this.#report(table, { key, type, record: null });
  }

  /** Removes the stored record's index entries. */
  #removeFromIndex(table: Table, key: string): void {
    const row = table.rows.get(key);
    if (row) for (const indexKey of indexKeysOf(key, row.fields)) table.indexKeys.delete(indexEntry(indexKey, key));
  }

  #report(table: Table, change: RecordChange): void {
    for (const { prefix, queue } of table.watchers) if (change.key.startsWith(prefix)) queue.push(change);
  }

  /** Returns the row unless it is absent or expired. Removes an expired row. */
  #live(name: RecordName): Row | undefined {
    const table = this.#table(name.space, name.tenantId);
    const row = table.rows.get(name.key);
    if (!row || !this.#isExpired(row)) return row;
    this.#expire(table, name.key, row);
    return undefined;
  }

  #isExpired(row: Row): boolean {
    return row.expiresAt !== null && row.expiresAt <= this.#context.clock();
  }

  #copy(row: Row, brief = false): StoredRecord {
    return { fields: brief ? NO_FIELDS : new Map(row.fields), revision: row.revision, ttlMs: this.#ttlOf(row) };
  }

  #ttlOf({ expiresAt }: Row): number | null {
    return expiresAt === null ? null : expiresAt - this.#context.clock();
  }

  #table(space: RecordSpace, tenantId: string): Table {
    const id = idOf(space, tenantId);
    let table = this.#tables.get(id);
    if (!table) {
      const [keys, indexKeys] = [new SortedKeys(), new SortedKeys()];
      table = { space, tenantId, rows: new Map(), keys, indexKeys, watchers: new Set() };
      this.#tables.set(id, table);
    }
    return table;
  }
}

function idOf(space: RecordSpace, tenantId: string): string {
  return `${space}\0${tenantId}`;
}

/** NUL occurs in no index key and no record key and sorts first, so entries sort by index key, then record key. */
function indexEntry(indexKey: string, key: string): string {
  return `${indexKey}\0${key}`;
}

async function* withCleanup(changes: AsyncIterable<RecordChange>, stop: () => void): AsyncIterable<RecordChange> {
  try {
    yield* changes;
  } finally {
    stop();
  }
}

export function memoryRecords(context: StoreContext): MemoryRecords {
  return new MemoryRecords(context);
}
