/**
 * Sends requests to DynamoDB. Loads the AWS SDK on first use. Retries requests itself, because the caller's deadline
 * and the kind of failure determine whether a retry is allowed. Every write here is safe to retry: transactions carry a
 * request token, and conditional writes carry an id by which a retry recognises an earlier attempt.
 */

import { randomUUID } from 'node:crypto';
import type {
  AttributeValue,
  DynamoDBClient,
  QueryCommandInput,
  TransactWriteItem,
  UpdateItemCommandInput,
} from '@aws-sdk/client-dynamodb';
import { type EngineCall, inParts, missingPackage, sleep } from '@tidemark/core/engine';
import {
  cancellationOf,
  isConditionFailure,
  kindOf,
  outcomeUnknown,
  overloaded,
  translate,
  unavailable,
} from './errors.ts';
import type { Settings } from './options.ts';

export type Item = Record<string, AttributeValue>;
export type TableKind = 'log' | 'records';
export type Sdk = typeof import('@aws-sdk/client-dynamodb');

/** A conditional write of one item. */
export interface ConditionalWrite {
  table: TableKind;
  /** With an update expression, returns `ALL_NEW`. With a put, returns nothing. */
  input: Omit<UpdateItemCommandInput, 'TableName' | 'Key'> & { Key?: Item; Item?: Item };
}

/** Recognises a conditional write in the item that it may have changed. */
export interface OwnWrite {
  /** Whether the item contains the write. */
  isIn(item: Item): boolean;
  /** Whether the item may be the result of a later write. Absent if the caller decides again from the item. */
  mayPrecede?(item: Item): boolean;
}

/** The outcome of a conditional write: the item that it returned, or the item that did not satisfy the condition. */
export type ConditionalOutcome = { done: true; item: Item | undefined } | { done: false; item: Item | undefined };

/**
 * The outcome of a transaction. If the transaction was cancelled, `items` has the items that did not satisfy their
 * conditions, by position.
 */
export type TransactionOutcome = { done: true } | { done: false; failed: boolean[]; items: (Item | undefined)[] };

/** Counts the cost of requests, for tests. */
export type Meter = (operation: string, units: number) => void;

const FIRST_DELAY_MS = 4;
const MAX_DELAY_MS = 200;
const MAX_READ_AT_ONCE = 100;
const MAX_WRITTEN_AT_ONCE = 25;
const DEFAULT_LIMIT_MS = 30_000;
const MAX_SOCKETS = 200;
const SECOND_MS = 1_000;

export class Client {
  readonly sdk: Sdk;
  readonly #client: DynamoDBClient;
  readonly #settings: Settings;
  readonly #meter: Meter | undefined;

  private constructor(sdk: Sdk, settings: Settings, meter: Meter | undefined) {
    this.sdk = sdk;
    this.#settings = settings;
    this.#meter = meter;
    this.#client = new sdk.DynamoDBClient({
      region: settings.region === 'local' ? 'us-east-1' : settings.region,
      maxAttempts: 1,
      ...(settings.endpoint !== undefined && { endpoint: settings.endpoint }),
      ...(settings.credentials && { credentials: settings.credentials }),
      requestHandler: {
        connectionTimeout: settings.requestTimeoutMs,
        httpAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
        httpsAgent: { maxSockets: MAX_SOCKETS, keepAlive: true },
      },
    });
  }

  static async open(settings: Settings, meter?: Meter): Promise<Client> {
    return new Client(await loadSdk(), settings, meter);
  }

  /** Whether the client uses an endpoint other than that of AWS. */
  get isEmulated(): boolean {
    return this.#settings.endpoint !== undefined && !/\.amazonaws\.com/.test(this.#settings.endpoint);
  }

  table(kind: TableKind): string {
    return `${this.#settings.prefix}-${kind}`;
  }

  /** Reads one item. The read includes the last acknowledged write. */
  async get(table: TableKind, key: Item, call: EngineCall): Promise<Item | undefined> {
    const input = { TableName: this.table(table), Key: key, ConsistentRead: true, ...this.#metered() };
    const { GetItemCommand } = this.sdk;
    return (await this.#read('GetItem', (bounds) => this.#client.send(new GetItemCommand(input), bounds), call)).Item;
  }

  /** Reads items of one table in the order of their keys. Missing items are `undefined`. */
  async getMany(table: TableKind, keys: readonly Item[], call: EngineCall): Promise<(Item | undefined)[]> {
    if (keys.length === 1) return [await this.get(table, keys[0]!, call)];
    const found = new Map<string, Item>();
    const distinct = [...new Map(keys.map((key) => [idOf(key), key])).values()];
    const name = this.table(table);
    await Promise.all(
      [...inParts(distinct, MAX_READ_AT_ONCE)].map(async (part) => {
        for (let left: Item[] = part; left.length > 0; ) {
          const input = { RequestItems: { [name]: { Keys: left, ConsistentRead: true } }, ...this.#metered() };
          const command = () => new this.sdk.BatchGetItemCommand(input);
          const reply = await this.#read('BatchGetItem', (bounds) => this.#client.send(command(), bounds), call);
          for (const item of reply.Responses?.[name] ?? []) found.set(idOf(item), item);
          left = reply.UnprocessedKeys?.[name]?.Keys ?? [];
        }
      }),
    );
    return keys.map((key) => found.get(idOf(key)));
  }

  /** Reads one page of a partition. */
  query(
    table: TableKind,
    input: Omit<QueryCommandInput, 'TableName' | 'ConsistentRead'>,
    call: EngineCall,
  ): Promise<{ Items?: Item[]; LastEvaluatedKey?: Item }> {
    const query = { ...input, TableName: this.table(table), ConsistentRead: true, ...this.#metered() };
    return this.#read('Query', (bounds) => this.#client.send(new this.sdk.QueryCommand(query), bounds), call);
  }

  /**
   * Writes one item if its condition holds. If it does not hold, an earlier attempt of this call may be the reason, and
   * the outcome is unknown if another writer may have followed that attempt.
   */
  async write({ table, input }: ConditionalWrite, own: OwnWrite, call: EngineCall): Promise<ConditionalOutcome> {
    const { PutItemCommand, UpdateItemCommand } = this.sdk;
    const { Item, Key, ...rest } = input;
    const common = {
      ...rest,
      TableName: this.table(table),
      ReturnValuesOnConditionCheckFailure: 'ALL_OLD' as const,
      ...this.#metered(),
    };
    const progress: Progress = { mayBeDone: false };
    const put = (it: { abortSignal: AbortSignal }) => this.#client.send(new PutItemCommand({ ...common, Item }), it);
    const update = (it: { abortSignal: AbortSignal }) =>
      this.#client.send(new UpdateItemCommand({ ...common, Key }), it);
    try {
      const reply = Item
        ? await this.#attempt('PutItem', put, 'write', call, progress)
        : await this.#attempt('UpdateItem', update, 'write', call, progress);
      return { done: true, item: reply.Attributes };
    } catch (error) {
      if (!isConditionFailure(error)) throw error;
      const item = error.Item;
      if (item && own.isIn(item)) return { done: true, item };
      if (item && progress.mayBeDone && own.mayPrecede?.(item)) throw outcomeUnknown(error);
      return { done: false, item };
    }
  }

  /** Writes up to 100 items in one step, all or none. */
  async transact(items: readonly TransactWriteItem[], call: EngineCall): Promise<TransactionOutcome> {
    // The token is the same in every attempt, so DynamoDB executes the transaction only once.
    const input = { TransactItems: [...items], ClientRequestToken: randomUUID(), ...this.#metered() };
    const command = () => new this.sdk.TransactWriteItemsCommand(input);
    try {
      await this.#write('TransactWriteItems', (bounds) => this.#client.send(command(), bounds), call);
      return { done: true };
    } catch (error) {
      const reasons = cancellationOf(error);
      if (!reasons) throw error;
      const failed = reasons.map(({ Code }) => Code === 'ConditionalCheckFailed');
      return { done: false, failed, items: reasons.map(({ Item }) => Item) };
    }
  }

  /** Puts items without a condition, or removes them. The call is not atomic: each item is retried until it is done. */
  async putAll(table: TableKind, items: readonly Item[], call: EngineCall): Promise<void> {
    await this.#writeAll(
      table,
      items.map((Item) => ({ PutRequest: { Item } })),
      call,
    );
  }

  async deleteAll(table: TableKind, keys: readonly Item[], call: EngineCall): Promise<void> {
    await this.#writeAll(
      table,
      keys.map((Key) => ({ DeleteRequest: { Key } })),
      call,
    );
  }

  async #writeAll(
    table: TableKind,
    requests: readonly ({ PutRequest: { Item: Item } } | { DeleteRequest: { Key: Item } })[],
    call: EngineCall,
  ): Promise<void> {
    const name = this.table(table);
    for (const part of byWeight(requests)) {
      for (let left: typeof part = part, tries = 0; left.length > 0; tries++) {
        if (tries > 0) await sleep(delayOf(tries));
        const input = { RequestItems: { [name]: left }, ...this.#metered() };
        const command = () => new this.sdk.BatchWriteItemCommand(input);
        const reply = await this.#write('BatchWriteItem', (bounds) => this.#client.send(command(), bounds), call);
        left = (reply.UnprocessedItems?.[name] ?? []) as typeof part;
      }
    }
  }

  /** Sends a request about tables. Such requests are not retried. */
  async manage<Reply>(send: (client: DynamoDBClient) => Promise<Reply>): Promise<Reply> {
    return send(this.#client);
  }

  /**
   * Returns how many milliseconds this machine's clock is ahead of DynamoDB's. The result is accurate to a second,
   * because replies have their time in seconds. Returns `null` if replies have no time.
   */
  async clockSkew(): Promise<number | null> {
    const { endpoint, region, requestTimeoutMs } = this.#settings;
    const url = endpoint ?? `https://dynamodb.${region}.amazonaws.com/`;
    const began = Date.now();
    const reply = await fetch(url, { signal: AbortSignal.timeout(requestTimeoutMs) }).catch(() => null);
    const text = reply?.headers.get('date');
    if (!text) return null;
    const [now, theirs] = [(began + Date.now()) / 2, Date.parse(text)];
    return now < theirs ? now - theirs : Math.max(0, now - theirs - SECOND_MS);
  }

  close(): void {
    this.#client.destroy();
  }

  #metered(): { ReturnConsumedCapacity?: 'TOTAL' } {
    return this.#meter ? { ReturnConsumedCapacity: 'TOTAL' } : {};
  }

  #read<Reply>(operation: string, send: Send<Reply>, call: EngineCall): Promise<Reply> {
    return this.#attempt(operation, send, 'read', call);
  }

  #write<Reply>(operation: string, send: Send<Reply>, call: EngineCall): Promise<Reply> {
    return this.#attempt(operation, send, 'write', call);
  }

  async #attempt<Reply>(
    operation: string,
    send: Send<Reply>,
    kind: 'read' | 'write',
    call: EngineCall,
    progress: Progress = { mayBeDone: false },
  ): Promise<Reply> {
    const deadline = call.deadline ?? Date.now() + DEFAULT_LIMIT_MS;
    let last: unknown = new Error('The time limit passed before the request was sent');
    for (let tries = 0; ; tries++) {
      const left = deadline - Date.now();
      if (left <= 0 || (call.signal?.aborted && kind === 'read')) throw overdue(last, progress.mayBeDone);
      try {
        return await this.#send(operation, send, Math.min(left, this.#settings.requestTimeoutMs));
      } catch (error) {
        last = error;
        const failure = kindOf(error);
        // A condition may have failed because of an earlier attempt, which the caller recognises by comparing ids.
        if (failure === 'refused' && (isConditionFailure(error) || cancellationOf(error))) throw error;
        if (failure === 'refused') throw progress.mayBeDone ? outcomeUnknown(error) : translate(error);
        if (failure === 'unknown' && kind === 'write') progress.mayBeDone = true;
        await sleep(Math.min(delayOf(tries), Math.max(0, deadline - Date.now())));
      }
    }
  }

  async #send<Reply>(operation: string, send: Send<Reply>, withinMs: number): Promise<Reply> {
    const controller = new AbortController();
    const timer = setTimeout(() => controller.abort(), withinMs);
    try {
      const reply = await send({ abortSignal: controller.signal });
      if (this.#meter) this.#meter(operation, unitsOf(reply));
      return reply;
    } finally {
      clearTimeout(timer);
    }
  }
}

/** Whether an attempt of a write has been sent and may have been executed. */
interface Progress {
  mayBeDone: boolean;
}

/** One attempt to send a request. */
type Send<Reply> = (bounds: { abortSignal: AbortSignal }) => Promise<Reply>;

async function loadSdk(): Promise<Sdk> {
  try {
    return await import('@aws-sdk/client-dynamodb');
  } catch (cause) {
    throw missingPackage(cause, '@aws-sdk/client-dynamodb', 'dynamodb:');
  }
}

function overdue(last: unknown, mayBeDone: boolean): unknown {
  if (mayBeDone) return outcomeUnknown(last);
  return kindOf(last) === 'later' ? overloaded(last) : unavailable(last);
}

/** Full jitter, so that writers that collided once do not collide again. */
function delayOf(tries: number): number {
  return Math.random() * Math.min(MAX_DELAY_MS, FIRST_DELAY_MS * 2 ** Math.min(tries, 10));
}

/** Returns the capacity units that DynamoDB reports for a request. */
function unitsOf(reply: unknown): number {
  const { ConsumedCapacity } = reply as { ConsumedCapacity?: Capacity | Capacity[] };
  const all = ConsumedCapacity === undefined ? [] : [ConsumedCapacity].flat();
  return all.reduce((total, { CapacityUnits }) => total + (CapacityUnits ?? 0), 0);
}

interface Capacity {
  CapacityUnits?: number;
}

const MAX_BATCH_BYTES = 4 * 1024 * 1024;

/** Divides requests into batches within DynamoDB's limits. */
function byWeight<Request extends object>(requests: readonly Request[]): Request[][] {
  const parts: Request[][] = [];
  let [part, bytes]: [Request[], number] = [[], 0];
  for (const request of requests) {
    const weight = weightOf(request);
    if (part.length === MAX_WRITTEN_AT_ONCE || (part.length > 0 && bytes + weight > MAX_BATCH_BYTES)) {
      parts.push(part);
      [part, bytes] = [[], 0];
    }
    part.push(request);
    bytes += weight;
  }
  if (part.length > 0) parts.push(part);
  return parts;
}

function weightOf(request: object): number {
  const { PutRequest } = request as { PutRequest?: { Item: Item } };
  return PutRequest ? itemBytes(PutRequest.Item) : 100;
}

/**
 * Returns the approximate size of an item by DynamoDB's rules: names, bytes of texts and binaries, and a few bytes per
 * number.
 */
export function itemBytes(item: Item): number {
  let bytes = 0;
  for (const [name, value] of Object.entries(item)) bytes += Buffer.byteLength(name) + valueBytes(value);
  return bytes;
}

function valueBytes(value: AttributeValue): number {
  if (value.B) return value.B.length;
  if (value.S !== undefined) return Buffer.byteLength(value.S);
  if (value.N !== undefined) return Math.ceil(value.N.length / 2) + 1;
  if (value.BS) return value.BS.reduce((sum, it) => sum + it.length, 0);
  if (value.L) return 3 + value.L.reduce((sum, it) => sum + 1 + valueBytes(it), 0);
  if (value.M) return 3 + Object.keys(value.M).length + itemBytes(value.M);
  return 1;
}

function idOf({ p, s }: Item): string {
  return `${Buffer.from(p!.B!).toString('latin1')}\0${Buffer.from(s!.B!).toString('latin1')}`;
}
