/** The KV store of every backend: validates and encodes before the records engine, and decodes after it. */

import { corruptValue, Damage } from '../checks/damage.ts';
import { decodeCursor, encodeCursor } from '../checks/json.ts';
import { checkDuration, checkInteger, checkLimit } from '../checks/numbers.ts';
import { refuseOldNames } from '../checks/renamed.ts';
import { checkId, checkObject, checkOptionalBoolean, checkOptionalId, checkPrefix } from '../checks/text.ts';
import { PAYLOADS, type Payloads } from '../codec/payloads.ts';
import type { CallOptions, Duration, Page, PageOptions } from '../contracts/common.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type {
  KvChange,
  KvEntry,
  KvStore,
  KvSwap,
  KvSwapResult,
  KvValue,
  KvWriteOptions,
  KvWriteResult,
  ScanFilter,
} from '../contracts/kv.ts';
import type { EngineCall } from '../engine/call.ts';
import type {
  RecordChange,
  RecordName,
  RecordOutcome,
  Records,
  RecordWrite,
  ScannedRecord,
} from '../engine/records.ts';
import type { StoreContext } from '../tools/context.ts';
import { withDamage } from '../tools/paging.ts';
import type { WriteCall } from '../tools/writes.ts';
import { checkFilter, matchesFilter, type RecordFilter } from './filter.ts';
import { encodeFields, encodeValue, recordOf } from './values.ts';

const SCAN_PAGE = 200;
const MAX_KEYS = 1_000;

export class Kv implements KvStore {
  readonly [PAYLOADS]: Payloads;
  readonly #context: StoreContext;
  readonly #records: Records;
  readonly #tenantId: string;

  constructor(context: StoreContext, records: Records, tenantId: string) {
    this[PAYLOADS] = context.payloads;
    this.#context = context;
    this.#records = records;
    this.#tenantId = tenantId;
  }

  async get(key: string, options?: CallOptions) {
    const [record] = await this.getMany([key], options);
    return record ?? null;
  }

  async getMany(keys: readonly string[], options?: CallOptions) {
    if (!Array.isArray(keys) || keys.length > MAX_KEYS)
      throw invalidArgument('keys', `an array of at most ${MAX_KEYS} keys`);
    const names = keys.map((key) => this.#name(key));
    return this.#context.read(options, async (call) => {
      const records = await this.#records.get(names, call);
      return records.map((record) => (record ? recordOf(record) : null));
    });
  }

  async put(
    key: string,
    fields: Record<string, KvValue>,
    options?: KvWriteOptions & { ttl?: Duration },
  ): Promise<KvWriteResult> {
    const set = encodeFields(fields, 'fields', this.#context.limits.fieldBytes, { nulls: false });
    if (set.size === 0) throw invalidArgument('fields', 'at least one field; use delete to remove a record');
    const ttlMs = options?.ttl === undefined ? null : checkDuration(options.ttl, 'ttl');
    const requestId = requestIdOf(options);
    const write: RecordWrite = { name: this.#name(key), mode: 'replace', set, ttlMs, requestId, brief: true };
    return resultOf(await this.#write(write, options, this.#context.writeOf('kv', 'put', [key, fields, options])));
  }

  async delete(key: string, options?: KvWriteOptions): Promise<boolean> {
    const requestId = requestIdOf(options);
    const write: RecordWrite = { name: this.#name(key), mode: 'delete', set: new Map(), requestId, brief: true };
    return (await this.#write(write, options, this.#context.writeOf('kv', 'delete', [key, options]))).existed;
  }

  async getField(key: string, field: string, options?: CallOptions): Promise<Uint8Array | null> {
    checkId(field, 'field');
    const name = this.#name(key);
    const bytes = await this.#context.read(options, (call) => this.#records.getField(name, field, call));
    return bytes && new Uint8Array(bytes);
  }

  async setField(
    key: string,
    field: string,
    value: KvValue,
    options?: KvWriteOptions & { ifExists?: boolean },
  ): Promise<KvWriteResult> {
    const set = new Map([[checkId(field, 'field'), encodeValue(value, 'value', this.#context.limits.fieldBytes)]]);
    return this.#merge(key, set, options, this.#context.writeOf('kv', 'setField', [key, field, value, options]));
  }

  async setFields(
    key: string,
    fields: Record<string, KvValue | null>,
    options?: KvWriteOptions & { ifExists?: boolean },
  ): Promise<KvWriteResult> {
    const set = encodeFields(fields, 'fields', this.#context.limits.fieldBytes, { nulls: true });
    if (set.size === 0) throw invalidArgument('fields', 'at least one field');
    return this.#merge(key, set, options, this.#context.writeOf('kv', 'setFields', [key, fields, options]));
  }

  async #merge(
    key: string,
    set: Map<string, Uint8Array | null>,
    options: (KvWriteOptions & { ifExists?: boolean }) | undefined,
    retry: WriteCall,
  ): Promise<KvWriteResult> {
    const requestId = requestIdOf(options);
    const write: RecordWrite = { name: this.#name(key), mode: 'merge', set, requestId, brief: true };
    if (checkOptionalBoolean(options?.ifExists, 'ifExists')) write.expect = { exists: true };
    return resultOf(await this.#write(write, options, retry));
  }

  async compareAndSwap(
    key: string,
    field: string,
    expected: KvValue | null,
    next: KvValue | null,
    options?: KvWriteOptions,
  ): Promise<boolean> {
    checkId(field, 'field');
    const bytesOf = (value: KvValue | null, name: string) =>
      value === null ? null : encodeValue(value, name, this.#context.limits.fieldBytes);
    const write: RecordWrite = {
      name: this.#name(key),
      mode: 'merge',
      expect: { fields: new Map([[field, bytesOf(expected, 'expected')]]) },
      set: new Map([[field, bytesOf(next, 'next')]]),
      requestId: requestIdOf(options),
      brief: true,
    };
    const retry = this.#context.writeOf('kv', 'compareAndSwap', [key, field, expected, next, options]);
    return (await this.#write(write, options, retry)).applied;
  }

  async swap(key: string, change: KvSwap, options?: CallOptions): Promise<KvSwapResult> {
    const retry = this.#context.writeOf('kv', 'swap', [key, change, options]);
    const { applied, record } = await this.#write(this.#swapOf(key, change), options, retry);
    return { swapped: applied, record: record && recordOf(record) };
  }

  #swapOf(key: string, change: KvSwap): RecordWrite {
    refuseOldNames('swap', change);
    const it = checkObject(change, 'change');
    const maxBytes = this.#context.limits.fieldBytes;
    return {
      name: this.#name(key),
      mode: 'merge',
      expect: {
        fields:
          it.expected === undefined ? undefined : encodeFields(it.expected, 'expected', maxBytes, { nulls: true }),
        revision:
          it.expectedRevision === undefined ? undefined : checkInteger(it.expectedRevision, 'expectedRevision', 0),
      },
      set: encodeFields(it.set, 'set', maxBytes, { nulls: true }),
      ttlMs: it.ttl === undefined || it.ttl === null ? (it.ttl as undefined | null) : checkDuration(it.ttl, 'ttl'),
      requestId: requestIdOf(change),
    };
  }

  async touch(key: string, ttl: Duration | null, options?: KvWriteOptions): Promise<boolean> {
    const requestId = requestIdOf(options);
    const ttlMs = ttl === null ? null : checkDuration(ttl, 'ttl');
    const write: RecordWrite = {
      name: this.#name(key),
      mode: 'merge',
      expect: { exists: true },
      set: new Map(),
      ttlMs,
      requestId,
      brief: true,
    };
    return (await this.#write(write, options, this.#context.writeOf('kv', 'touch', [key, ttl, options]))).applied;
  }

  #write(write: RecordWrite, options: CallOptions | undefined, retry: WriteCall): Promise<RecordOutcome> {
    return this.#context.write(options, retry, (call) => this.#records.write(write, call));
  }

  async *scan(prefix: string, filter?: ScanFilter, options?: CallOptions): AsyncIterable<KvEntry> {
    const checked = checkFilter(filter, this.#context.limits.fieldBytes);
    checkPrefix(prefix, 'prefix');
    let after: string | null = null;
    let matches = 0;
    const damage = new Damage();
    for (;;) {
      const rows: ScannedRecord[] = await this.#context.read(options, (call) =>
        this.#scanRows(prefix, after, SCAN_PAGE, call),
      );
      for (const row of rows) {
        if (row.damaged) damage.note(corruptValue('record', row.key));
        else if (matchesFilter(row.fields, checked)) {
          yield entryOf(row);
          if (++matches >= checked.maxResults) return;
        }
      }
      if (rows.length < SCAN_PAGE) return damage.report();
      after = rows.at(-1)!.key;
    }
  }

  async scanPage(prefix: string, options?: PageOptions & { filter?: ScanFilter }) {
    checkPrefix(prefix, 'prefix');
    const filter = checkFilter(options?.filter, this.#context.limits.fieldBytes);
    const limit = checkLimit(options?.limit, 100, 1_000);
    const start = options?.cursor === undefined ? { after: null, seen: 0 } : checkScanCursor(options.cursor);
    return this.#context.read(options, (call) => this.#readPage(prefix, filter, limit, start, call));
  }

  async #readPage(
    prefix: string,
    filter: RecordFilter,
    limit: number,
    start: { after: string | null; seen: number },
    call: EngineCall,
  ): Promise<Page<KvEntry>> {
    const items: KvEntry[] = [];
    const damage = new Damage();
    const pageOf = (next?: string): Page<KvEntry> =>
      withDamage(next === undefined ? { items } : { items, next }, damage.names);
    let { after } = start;
    for (;;) {
      const rows = await this.#scanRows(prefix, after, SCAN_PAGE, call);
      for (const row of rows) {
        if (row.damaged) damage.note(corruptValue('record', row.key));
        if (row.damaged || !matchesFilter(row.fields, filter)) continue;
        // The page ends only when one more match was seen, so `next` is set only if another page has items.
        if (items.length === limit) return pageOf(encodeCursor([items.at(-1)!.key, start.seen + items.length]));
        items.push(entryOf(row));
        if (start.seen + items.length >= filter.maxResults) return pageOf();
      }
      if (rows.length < SCAN_PAGE) return pageOf();
      after = rows.at(-1)!.key;
    }
  }

  #scanRows(prefix: string, after: string | null, limit: number, call: EngineCall): Promise<ScannedRecord[]> {
    return this.#records.scan('kv', this.#tenantId, { prefix, after, limit }, call);
  }

  watch(prefix: string, options?: CallOptions): AsyncIterable<KvChange> {
    checkPrefix(prefix, 'prefix');
    this.#context.startCall(options);
    const signal = options?.signal ? AbortSignal.any([options.signal, this.#context.closed]) : this.#context.closed;
    return decodeChanges(this.#records.watch('kv', this.#tenantId, prefix, signal));
  }

  #name(key: unknown): RecordName {
    return { space: 'kv', tenantId: this.#tenantId, key: checkId(key, 'key') };
  }
}

async function* decodeChanges(changes: AsyncIterable<RecordChange>): AsyncIterable<KvChange> {
  for await (const { key, type, record } of changes) yield { key, type, record: record && recordOf(record) };
}

function requestIdOf(options: { requestId?: string } | undefined): string | undefined {
  return checkOptionalId(options?.requestId, 'requestId') ?? undefined;
}

function resultOf({ applied, record }: RecordOutcome): KvWriteResult {
  return { written: applied, revision: record?.revision ?? null };
}

function entryOf(row: ScannedRecord): KvEntry {
  return { key: row.key, record: recordOf(row) };
}

function checkScanCursor(cursor: string): { after: string; seen: number } {
  const isScanCursor = (values: unknown[]) =>
    values.length === 2 && typeof values[0] === 'string' && Number.isSafeInteger(values[1]);
  const [after, seen] = decodeCursor<[string, number]>(cursor, isScanCursor);
  return { after, seen };
}
