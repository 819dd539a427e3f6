/**
 * The records primitive on DynamoDB: one item per record. A write to a live record is usually one conditional update.
 * Any other write reads the item and replaces it on the condition that the item has not changed since. Index entries of
 * jobs change in the same transaction.
 */
import { isTidemarkError, TidemarkError } from '@tidemark/core';
import {
  corruptValue,
  type EngineCall,
  type IndexedRecord,
  type IndexRange,
  inParts,
  REQUEST_KEPT_MS,
  type RecordChange,
  type RecordName,
  type RecordOutcome,
  type RecordSpace,
  type Records,
  type RecordWrite,
  requestName,
  type ScannedRecord,
  type ScanRange,
  type StoredRecord,
  sleep,
} from '@tidemark/core/engine';
import type { Client, Item } from './client.ts';
import { isTooLarge } from './errors.ts';
import type { Hints } from './hints.ts';
import { type Prepared, writeBatch } from './records/batch.ts';
import { Eraser } from './records/erasing.ts';
import { quickWrite } from './records/quick-write.ts';
import {
  type Found,
  fieldBytes,
  isLive,
  liveState,
  MAX_FIELDS_BYTES,
  type MarkedRecord,
  markedRecord,
  ownWrite,
  type PartsOf,
  readItem,
  recordItem,
  recordKey,
  removableAt,
  storedRecord,
} from './records/record-item.ts';
import { RecordParts } from './records/record-parts.ts';
import {
  indexKeyActions,
  isPlan,
  itemAfter,
  outcomeOf,
  type Plan,
  planWrite,
  unchanged,
} from './records/record-plan.ts';
import { scanIndexItems, scanItems } from './records/scanning.ts';
import { watchRecords } from './records/watch.ts';
import { newWriteId } from './records/write-history.ts';

export interface RecordSources {
  client: Client;
  hints: Hints;
  clock: () => number;
}

const MAX_TRIES = 200;
const EAGER_TRIES = 2;
const MAX_DELAY_MS = 25;
/**
 * The maximum number of writes in one transaction, enough for the operations of a `kv.batch` and its answer. Longer
 * lists are written in several transactions.
 */
const MAX_IN_BATCH = 26;

export class DynamoDbRecords implements Records {
  readonly #client: Client;
  readonly #hints: Hints;
  readonly #clock: () => number;
  readonly #parts: RecordParts;
  readonly #eraser: Eraser;

  constructor({ client, hints, clock }: RecordSources) {
    this.#client = client;
    this.#hints = hints;
    this.#clock = clock;
    this.#parts = new RecordParts(client);
    this.#eraser = new Eraser(client, this.#parts);
  }

  async get(names: readonly RecordName[], call: EngineCall): Promise<(StoredRecord | null)[]> {
    const records = await this.getMarked(names, call);
    const at = records.findIndex((record) => record?.damaged);
    if (at !== -1) throw corruptValue('record', names[at]!.key);
    return records;
  }

  /** Like `get`, but marks damaged records instead of refusing them. */
  async getMarked(names: readonly RecordName[], call: EngineCall): Promise<(MarkedRecord | null)[]> {
    const found = await this.findAll(names, call);
    const now = this.#clock();
    return found.map((it) => markedRecord(it, now));
  }

  async getField(name: RecordName, field: string, call: EngineCall): Promise<Uint8Array | null> {
    const [record] = await this.get([name], call);
    return record?.fields.get(field) ?? null;
  }

  /** Reads records together with the information that a write needs about them. */
  async findAll(names: readonly RecordName[], call: EngineCall): Promise<Found[]> {
    if (names.length === 0) return [];
    const items = await this.#client.getMany('records', names.map(recordKey), call);
    return Promise.all(items.map((item, at) => this.#complete(names[at]!, item, call)));
  }

  /** Adds the fields that are stored in parts. */
  async #complete(name: RecordName, item: Item | undefined, call: EngineCall): Promise<Found> {
    for (let current = item; ; ) {
      const found = readItem(name, current);
      if (!found.parts || !isLive(found, this.#clock())) return found;
      const loaded = await this.#parts.load(name, found.parts, call);
      if (loaded) return { ...found, ...loaded };
      // The parts are missing because the version that was read has been replaced.
      current = await this.#client.get('records', recordKey(name), call);
      if (readItem(name, current).parts?.id === found.parts.id) return { ...found, damaged: true };
    }
  }

  async write(write: RecordWrite, call: EngineCall): Promise<RecordOutcome> {
    const { name } = write;
    const quick = await this.#writeAtOnce(write, call);
    if ('applied' in quick) return quick;
    let found = quick.known ?? (await this.findAll([name], call))[0]!;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const plan = planWrite(write, found, await this.isAnswered(write, found, call), this.#clock());
      if (!isPlan(plan)) return plan;
      const after = await this.#carryOut(plan, call);
      if (after === null) return outcomeOf(plan);
      found = await this.#complete(name, after.item, call);
      if (tries > EAGER_TRIES) await sleep(Math.random() * Math.min(MAX_DELAY_MS, tries));
    }
    throw new TidemarkError(
      'OVERLOADED',
      'Too many writers change the same record at once; nothing was written, try again',
    );
  }

  /** Tries an update without reading first. If the update cannot be applied, returns what is known about the record. */
  async #writeAtOnce(write: RecordWrite, call: EngineCall): Promise<RecordOutcome | { known: Found | null }> {
    const now = this.#clock();
    const quick = quickWrite(write, now);
    if (!quick) return { known: null };
    const outcome = await this.#client.write(quick.request, quick.own, call).catch((error: unknown) => {
      if (isTidemarkError(error, 'STORAGE_ERROR') && isTooLarge(error.cause)) return null;
      throw error;
    });
    if (outcome === null) return { known: null };
    if (!outcome.done) return { known: await this.#complete(write.name, outcome.item, call) };
    const found = readItem(write.name, outcome.item);
    const record = storedRecord(found, now);
    this.#hints.recordChanged({ name: write.name, revision: found.revision, record });
    return { applied: true, existed: true, record };
  }

  /** Executes a plan. Returns `null`, or the current item when another writer was faster. */
  async #carryOut(plan: Plan, call: EngineCall): Promise<{ item: Item | undefined } | null> {
    const [prepared] = await this.prepare([plan], MAX_FIELDS_BYTES, call);
    const { put, indexActions, parts } = prepared!;
    const { name } = plan.write;
    let item: Item | undefined;
    let done: boolean;
    if (indexActions.length === 0) {
      const own = ownWrite(plan.writeId, plan.write);
      const { TableName: _, ...input } = put;
      ({ done, item } = await this.#client.write({ table: 'records', input }, own, call));
    } else {
      const outcome = await this.#client.transact([{ Put: put }, ...indexActions], call);
      done = outcome.done;
      if (!outcome.done) item = outcome.items[0];
    }
    await this.settle(plan, parts, done, call);
    if (!done) return { item };
    this.#hints.recordChanged({ name, revision: plan.revision, record: outcomeOf(plan).record });
    return null;
  }

  /**
   * Returns the actions of plans. Before that, stores the request ids that leave their records, and the fields larger
   * than `largest` bytes to which the records will refer.
   */
  prepare(plans: readonly Plan[], largest: number, call: EngineCall): Promise<Prepared[]> {
    return Promise.all(
      plans.map(async (plan) => {
        const { write, after, before, left, now } = plan;
        if (left.length > 0) await this.#keepRequests(write.name, left, now, call);
        const isLarge = after !== null && fieldBytes(write.name, after.fields) > largest;
        const parts = isLarge ? await this.#parts.store(write.name, after.fields, call) : null;
        const TableName = this.#client.table('records');
        const old = 'ALL_OLD' as const;
        const put = {
          TableName,
          Item: itemAfter(plan, parts),
          ...unchanged(before),
          ReturnValuesOnConditionCheckFailure: old,
        };
        return { put, indexActions: indexKeyActions(plan, TableName), parts };
      }),
    );
  }

  /** Removes the parts that are unreferenced after an attempt. */
  async settle({ write, before }: Plan, parts: PartsOf | null, done: boolean, call: EngineCall): Promise<void> {
    await this.#parts.remove(write.name, done ? before.parts : parts, call);
  }

  /** Stores request ids outside their record. The ids belong to writes that were applied. */
  async #keepRequests(name: RecordName, ids: readonly string[], now: number, call: EngineCall): Promise<void> {
    const items = ids.map((id) => {
      const state = { fields: new Map(), revision: 1, expiresAt: now + REQUEST_KEPT_MS };
      const rest = { revision: 1, writeId: newWriteId(1), writes: [], requests: [], leftAt: null, now, parts: null };
      return { ...recordItem(requestName(name, id), { state, ...rest }), e: removableAt(now) };
    });
    await this.#client.putAll('records', items, call);
  }

  /** Whether this request was already applied. */
  async isAnswered({ name, requestId, requestIsNew }: RecordWrite, found: Found, call: EngineCall): Promise<boolean> {
    if (requestId === undefined || requestIsNew) return false;
    if (found.requests.includes(requestId)) return true;
    if (found.leftAt === null || found.leftAt + REQUEST_KEPT_MS < this.#clock()) return false;
    const [kept] = await this.findAll([requestName(name, requestId)], call);
    return liveState(kept!, this.#clock()) !== undefined;
  }

  async batch(writes: readonly RecordWrite[], call: EngineCall): Promise<RecordOutcome[]> {
    const outcomes: RecordOutcome[] = [];
    const parts = { records: this, client: this.#client, hints: this.#hints, clock: this.#clock };
    for (const some of inParts(writes, MAX_IN_BATCH)) {
      outcomes.push(...(await writeBatch(parts, some, call)));
      if (!outcomes.at(-1)!.applied) break;
    }
    const applied = outcomes.every((outcome) => outcome.applied);
    return writes.map((_, at) => ({ ...(outcomes[at] ?? { record: null, existed: false }), applied }));
  }

  async scan(space: RecordSpace, tenantId: string, range: ScanRange, call: EngineCall): Promise<ScannedRecord[]> {
    const found: ScannedRecord[] = [];
    for await (const items of scanItems(this.#client, space, tenantId, range, call)) {
      const now = this.#clock();
      const records = await Promise.all(items.map((item) => this.#scanned({ space, tenantId }, item, range, call)));
      for (const [at, it] of records.entries()) {
        const record = markedRecord(it, now);
        if (record) found.push({ key: items[at]!.k!.S!, ...record });
        if (found.length === range.limit) return found;
      }
    }
    return found;
  }

  #scanned(
    { space, tenantId }: Omit<RecordName, 'key'>,
    item: Item,
    { keysOnly }: ScanRange,
    call: EngineCall,
  ): Found | Promise<Found> {
    const name = { space, tenantId, key: item.k!.S! };
    return keysOnly ? readItem(name, item) : this.#complete(name, item, call);
  }

  async scanIndex(tenantId: string, range: IndexRange, call: EngineCall): Promise<IndexedRecord[]> {
    const found: IndexedRecord[] = [];
    for await (const entries of scanIndexItems(this.#client, tenantId, range, call)) {
      const names = entries.map(({ key }) => ({ space: 'kv', tenantId, key }) as const);
      const records = await this.getMarked(names, call);
      for (const [at, entry] of entries.entries()) {
        const record = records[at];
        if (record) found.push({ ...entry, ...record });
        if (found.length === range.limit) return found;
      }
    }
    return found;
  }

  async now(): Promise<number> {
    return this.#clock();
  }

  watch(space: RecordSpace, tenantId: string, prefix: string, signal: AbortSignal): AsyncIterable<RecordChange> {
    const parts = { client: this.#client, hints: this.#hints, records: this, clock: this.#clock };
    return watchRecords(parts, { space, tenantId, prefix }, signal);
  }

  /** Removes nothing, because DynamoDB's own TTL removes expired items. Until then, expired items are invisible. */
  async removeExpired(): Promise<number> {
    return 0;
  }

  tenants(space: RecordSpace, after: string | null, limit: number, call: EngineCall): Promise<string[]> {
    return this.#eraser.tenants(space, after, limit, call);
  }

  erase(space: RecordSpace, tenantId: string, limit: number, call: EngineCall): Promise<string[]> {
    return this.#eraser.erase(space, tenantId, limit, call);
  }
}
