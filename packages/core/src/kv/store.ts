/**
 * The KV store of every backend. Validates and encodes arguments before it calls the records engine, and decodes the
 * results.
 */

import { corruptValue, Damage } from '../checks/damage.ts';
import { checkKeyRange } from '../checks/key-range.ts';
import { checkDuration, checkInteger, checkLimit } from '../checks/numbers.ts';
import { refuseOldNames } from '../checks/renamed.ts';
import { checkId, checkObject, checkOptionalBoolean, checkOptionalId, checkPrefix } from '../checks/text.ts';
import { PAYLOADS, type Payloads } from '../codec/payloads.ts';
import type { CallOptions, Duration, Page } from '../contracts/common.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type {
  KvBatchOptions,
  KvBatchResult,
  KvChange,
  KvCount,
  KvCountOptions,
  KvDeleted,
  KvDeletePrefixOptions,
  KvEntry,
  KvOperation,
  KvRecord,
  KvScanOptions,
  KvScanPageOptions,
  KvSealing,
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
import { cursorKey, withDamage } from '../tools/paging.ts';
import type { WriteCall } from '../tools/writes.ts';
import { batchResult, planBatch, requireBatches } from './batch.ts';
import { countMatches, DELETE_CURSOR, deleteRange } from './ranges.ts';
import { bytesOf, cursorOf, planScan, positionOf, type ScanPlan, ScanReader } from './scan.ts';
import { refuseSealedConditions, Sealing } from './sealing.ts';
import { encodeFields, encodeValue } from './values.ts';

/** Bytes of fields after which a page ends, even if it has fewer items than the limit. */
const PAGE_BYTES = 4 * 1024 * 1024;
const MAX_KEYS = 1_000;

export class Kv implements KvStore {
  readonly [PAYLOADS]: Payloads;
  readonly #context: StoreContext;
  readonly #records: Records;
  readonly #tenantId: string;
  readonly #sealing: Sealing;
  readonly #canBatch: boolean;

  constructor(context: StoreContext, records: Records, tenantId: string, canBatch: boolean) {
    this[PAYLOADS] = context.payloads;
    this.#context = context;
    this.#records = records;
    this.#tenantId = tenantId;
    this.#sealing = new Sealing(context.payloads, tenantId);
    this.#canBatch = canBatch;
  }

  get(key: string, options?: CallOptions): Promise<KvRecord | null> {
    return this.#context.read(
      options,
      (call) => this.#records.get([this.#name(key)], call),
      ([record]) => (record ? this.#sealing.record(key, record) : null),
    );
  }

  async getMany(keys: readonly string[], options?: CallOptions) {
    if (!Array.isArray(keys) || keys.length > MAX_KEYS)
      throw invalidArgument('keys', `an array of at most ${MAX_KEYS} keys`);
    const names = keys.map((key) => this.#name(key));
    return this.#context.read(options, async (call) => {
      const records = await this.#records.get(names, call);
      return records.map((record, at) => record && this.#sealing.record(keys[at]!, record));
    });
  }

  async put(
    key: string,
    fields: Record<string, KvValue>,
    options?: KvWriteOptions & KvSealing & { ttl?: Duration },
  ): Promise<KvWriteResult> {
    const values = encodeFields(fields, 'fields', this.#context.limits.fieldBytes, { nulls: false });
    if (values.size === 0) throw invalidArgument('fields', 'at least one field; use delete to remove a record');
    const ttlMs = options?.ttl === undefined ? null : checkDuration(options.ttl, 'ttl');
    const requestId = requestIdOf(options);
    const name = this.#name(key);
    const set = this.#sealing.stored(key, values, { sealed: options?.sealed });
    const write: RecordWrite = { name, mode: 'replace', set, ttlMs, requestId, brief: true };
    return resultOf(await this.#write(write, options, this.#context.writeOf('kv', 'put', [key, fields, options])));
  }

  async delete(key: string, options?: KvWriteOptions): Promise<boolean> {
    const requestId = requestIdOf(options);
    const write: RecordWrite = { name: this.#name(key), mode: 'delete', set: new Map(), requestId, brief: true };
    return (await this.#write(write, options, this.#context.writeOf('kv', 'delete', [key, options]))).existed;
  }

  getField(key: string, field: string, options?: CallOptions): Promise<Uint8Array | null> {
    return this.#context.read(
      options,
      (call) => this.#records.getField(this.#name(key), checkId(field, 'field'), call),
      (bytes) => bytes && this.#sealing.open(key, field, bytes),
    );
  }

  setField(
    key: string,
    field: string,
    value: KvValue,
    options?: KvWriteOptions & { ifExists?: boolean; sealed?: boolean },
  ): Promise<KvWriteResult> {
    const write = (): RecordWrite => {
      const set = new Map([[checkId(field, 'field'), encodeValue(value, 'value', this.#context.limits.fieldBytes)]]);
      checkOptionalBoolean(options?.sealed, 'sealed');
      return this.#merge(key, set, options);
    };
    return this.#perform(
      write,
      options,
      this.#context.writeOf('kv', 'setField', [key, field, value, options]),
      resultOf,
    );
  }

  async setFields(
    key: string,
    fields: Record<string, KvValue | null>,
    options?: KvWriteOptions & KvSealing & { ifExists?: boolean },
  ): Promise<KvWriteResult> {
    const set = encodeFields(fields, 'fields', this.#context.limits.fieldBytes, { nulls: true });
    if (set.size === 0) throw invalidArgument('fields', 'at least one field');
    const writeCall = this.#context.writeOf('kv', 'setFields', [key, fields, options]);
    return resultOf(await this.#write(this.#merge(key, set, options), options, writeCall));
  }

  #merge(
    key: string,
    values: Map<string, Uint8Array | null>,
    options: (KvWriteOptions & KvSealing & { ifExists?: boolean }) | undefined,
  ): RecordWrite {
    const requestId = requestIdOf(options);
    const name = this.#name(key);
    const set = this.#sealing.stored(key, values, { sealed: options?.sealed });
    const write: RecordWrite = { name, mode: 'merge', set, requestId, brief: true };
    if (checkOptionalBoolean(options?.ifExists, 'ifExists')) write.expect = { exists: true };
    return write;
  }

  compareAndSwap(
    key: string,
    field: string,
    expected: KvValue | null,
    next: KvValue | null,
    options?: KvWriteOptions & { sealed?: boolean },
  ): Promise<boolean> {
    const write = () => this.#fieldSwap(key, field, expected, next, options);
    const writeCall = this.#context.writeOf('kv', 'compareAndSwap', [key, field, expected, next, options]);
    return this.#perform(write, options, writeCall, ({ applied, record }) => {
      // The outcome contains no fields, so read the stored field to find out whether it is sealed. A condition without a
      // value never compares a sealed field.
      if (applied || !record || expected === null) return applied;
      return this.#refuseSealed(key, field, expected, options).then(() => false);
    });
  }

  #fieldSwap(
    key: string,
    field: string,
    expected: KvValue | null,
    next: KvValue | null,
    options: (KvWriteOptions & { sealed?: boolean }) | undefined,
  ): RecordWrite {
    checkId(field, 'field');
    const name = this.#name(key);
    const bytesOf = (value: KvValue | null, name: string) =>
      value === null ? null : encodeValue(value, name, this.#context.limits.fieldBytes);
    const sealed = checkOptionalBoolean(options?.sealed, 'sealed');
    const values = new Map([[field, bytesOf(expected, 'expected')]]);
    const set = new Map([[field, bytesOf(next, 'next')]]);
    return {
      name,
      mode: 'merge',
      expect: { fields: this.#sealing.comparable(values) },
      set: this.#sealing.stored(key, set, { sealed, expected: values }),
      requestId: requestIdOf(options),
      brief: true,
    };
  }

  /** Throws if a value was compared with a sealed field. */
  async #refuseSealed(key: string, field: string, expected: KvValue, options: CallOptions | undefined): Promise<void> {
    const stored = await this.#context.read(options, (call) => this.#records.getField(this.#name(key), field, call));
    const value = encodeValue(expected, 'expected', this.#context.limits.fieldBytes);
    if (stored) refuseSealedConditions(new Map([[field, value]]), new Map([[field, stored]]));
  }

  async swap(key: string, change: KvSwap, options?: CallOptions): Promise<KvSwapResult> {
    const writeCall = this.#context.writeOf('kv', 'swap', [key, change, options]);
    const write = this.#swapOf(key, change);
    const { applied, record } = await this.#write(write, options, writeCall);
    if (!applied) refuseSealedConditions(write.expect?.fields, record?.fields);
    return { swapped: applied, record: record && this.#sealing.record(key, record, applied) };
  }

  #swapOf(key: string, change: KvSwap): RecordWrite {
    refuseOldNames('swap', change);
    const given = checkObject(change, 'change');
    const maxBytes = this.#context.limits.fieldBytes;
    const expected =
      given.expected === undefined ? undefined : encodeFields(given.expected, 'expected', maxBytes, { nulls: true });
    const set = encodeFields(given.set, 'set', maxBytes, { nulls: true });
    return {
      name: this.#name(key),
      mode: 'merge',
      expect: {
        fields: expected && this.#sealing.comparable(expected),
        revision:
          given.expectedRevision === undefined
            ? undefined
            : checkInteger(given.expectedRevision, 'expectedRevision', 0),
      },
      set: this.#sealing.stored(key, set, { sealed: given.sealed, expected }),
      ttlMs:
        given.ttl === undefined || given.ttl === null
          ? (given.ttl as undefined | null)
          : checkDuration(given.ttl, 'ttl'),
      requestId: requestIdOf(change),
    };
  }

  async batch(operations: readonly KvOperation[], options?: KvBatchOptions): Promise<KvBatchResult> {
    requireBatches(this.#canBatch);
    const plan = planBatch(operations, {
      tenantId: this.#tenantId,
      sealing: this.#sealing,
      fieldBytes: this.#context.limits.fieldBytes,
      requestId: requestIdOf(options),
    });
    const writeCall = this.#context.writeOf('kv', 'batch', [operations, options]);
    const outcomes = await this.#context.write(options, writeCall, (call) => this.#records.batch(plan.writes, call));
    return batchResult(plan, outcomes, this.#sealing);
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

  #write(write: RecordWrite, options: CallOptions | undefined, writeCall: WriteCall): Promise<RecordOutcome> {
    return this.#context.write(options, writeCall, (call) => this.#records.write(write, call));
  }

  /** Performs a write that is built once the call has begun, so that neither needs a promise of its own. */
  #perform<Answer>(
    build: () => RecordWrite,
    options: CallOptions | undefined,
    writeCall: WriteCall,
    decode: (outcome: RecordOutcome) => Answer | Promise<Answer>,
  ): Promise<Answer> {
    return this.#context.write(options, writeCall, (call) => this.#records.write(build(), call), decode);
  }

  async *scan(prefix: string, filter?: ScanFilter, options?: KvScanOptions): AsyncIterable<KvEntry> {
    const plan = planScan(prefix, filter, options && { ...options }, this.#context.limits.fieldBytes);
    const reader = new ScanReader(this.#records, this.#tenantId, plan);
    const { maxResults } = plan.filter;
    let matches = 0;
    const damage = new Damage();
    while (!reader.ended) {
      const rows = await this.#context.read(options, (call) => reader.next(maxResults - matches, call));
      for (const row of rows) {
        if (row.damaged) damage.note(corruptValue('record', row.key));
        else if (reader.matches(row)) {
          yield this.#entryOf(row, plan);
          if (++matches >= maxResults) return;
        }
      }
    }
    damage.report();
  }

  async scanPage(prefix: string, options?: KvScanPageOptions): Promise<Page<KvEntry>> {
    const given = options && { ...options };
    const plan = planScan(prefix, given?.filter, given, this.#context.limits.fieldBytes);
    const limit = checkLimit(options?.limit, 100, 1_000);
    const position = positionOf(options?.cursor, plan.range.reverse === true);
    return this.#context.read(options, (call) => this.#readPage(plan, limit, position, call));
  }

  async #readPage(
    plan: ScanPlan,
    limit: number,
    { after, seen }: { after: string | null; seen: number },
    call: EngineCall,
  ): Promise<Page<KvEntry>> {
    const items: KvEntry[] = [];
    const damage = new Damage();
    const pageOf = (next?: string): Page<KvEntry> =>
      withDamage(next === undefined ? { items } : { items, next }, damage.names);
    const reader = new ScanReader(this.#records, this.#tenantId, plan, after);
    const most = Math.min(limit, plan.filter.maxResults - seen);
    let bytes = 0;
    if (most <= 0) return pageOf();
    while (!reader.ended) {
      // Read one match more than fits on the page, to find out whether another page follows.
      const rows = await reader.next(most - items.length + (most === limit ? 1 : 0), call);
      for (const row of rows) {
        if (row.damaged) damage.note(corruptValue('record', row.key));
        if (row.damaged || !reader.matches(row)) continue;
        if (!plan.keysOnly) bytes += bytesOf(row);
        // The page ends only when another match has been read, so `next` is set only if the next page has items.
        if (items.length === limit || (items.length > 0 && bytes > PAGE_BYTES))
          return pageOf(cursorOf(items.at(-1)!.key, seen + items.length, plan.range.reverse === true));
        items.push(this.#entryOf(row, plan));
        if (seen + items.length >= plan.filter.maxResults) return pageOf();
      }
    }
    return pageOf();
  }

  async count(prefix: string, options?: KvCountOptions): Promise<KvCount> {
    const given: KvCountOptions = { ...options };
    const keys = { ...given, keysOnly: true, reverse: false };
    const plan = planScan(prefix, given.filter, keys, this.#context.limits.fieldBytes);
    const reader = new ScanReader(this.#records, this.#tenantId, plan);
    return this.#context.read(options, (call) => countMatches(reader, plan, call));
  }

  async deletePrefix(prefix: string, options?: KvDeletePrefixOptions): Promise<KvDeleted> {
    if (checkPrefix(prefix, 'prefix') === '')
      throw invalidArgument('prefix', 'at least one character, because all keys include those of the library', prefix);
    const limit = checkLimit(options?.limit, 100, 1_000);
    const after = cursorKey(DELETE_CURSOR, options?.cursor);
    const range = { prefix, ...checkKeyRange({ ...options }), after, limit };
    const writeCall = this.#context.writeOf('kv', 'deletePrefix', [prefix, options]);
    return this.#context.write(options, writeCall, (call) => deleteRange(this.#records, this.#tenantId, range, call));
  }

  watch(prefix: string, options?: CallOptions): AsyncIterable<KvChange> {
    checkPrefix(prefix, 'prefix');
    this.#context.startCall(options);
    const signal = options?.signal ? AbortSignal.any([options.signal, this.#context.closed]) : this.#context.closed;
    return this.#decodeChanges(this.#records.watch('kv', this.#tenantId, prefix, signal));
  }

  async *#decodeChanges(changes: AsyncIterable<RecordChange>): AsyncIterable<KvChange> {
    for await (const { key, type, record } of changes)
      yield { key, type, record: record && this.#sealing.record(key, record) };
  }

  #entryOf(row: ScannedRecord, { keysOnly }: ScanPlan): KvEntry {
    // The overloads of the contract declare such entries as entries without a record.
    return keysOnly ? ({ key: row.key } as KvEntry) : { key: row.key, record: this.#sealing.record(row.key, row) };
  }

  #name(key: unknown): RecordName {
    return { space: 'kv', tenantId: this.#tenantId, key: checkId(key, 'key') };
  }
}

function requestIdOf(options: { requestId?: string } | undefined): string | undefined {
  return checkOptionalId(options?.requestId, 'requestId') ?? undefined;
}

function resultOf({ applied, record }: RecordOutcome): KvWriteResult {
  return { written: applied, revision: record?.revision ?? null };
}
