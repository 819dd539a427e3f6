/**
 * `withBatching`: collects events and writes many at once (AGT-12). Calls that save flow and planner events resolve
 * when the event is accepted, before it is written; an append to a run resolves when it is durable. Reads include all
 * events accepted before them.
 */

import { MAX_JSON_DEPTH } from '../checks/json.ts';
import { checkDuration, checkInteger } from '../checks/numbers.ts';
import { isPlainObject } from '../checks/text.ts';
import type { PlannerEvent, StoredEvent } from '../contracts/agents.ts';
import { factsOf } from '../contracts/calls.ts';
import type { CallOptions, Duration } from '../contracts/common.ts';
import { isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { AppendResult } from '../contracts/run-appends.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { Store } from '../contracts/store.ts';
import { sleep } from '../tools/sleep.ts';
import { withWrite, writeCall } from '../tools/writes.ts';
import { Batcher, type BatchLimits } from './batcher.ts';
import { InterceptedStore, type Interceptor, type StoreCall } from './intercept.ts';

/** An accepted event that will not be stored. */
export interface LostEvent {
  method: 'saveEvent' | 'savePlannerEvent';
  /** The trace of a planner event. */
  traceId?: string;
  event: StoredEvent | PlannerEvent;
  error: unknown;
}

export interface BatchingOptions {
  /** How long an event may wait before it is written. Default 50 ms. */
  maxDelay?: Duration;
  /** Events written together, 1 to 1 000. Default 100. */
  maxBatch?: number;
  /**
   * Events that may wait in the queue. When it is full, calls wait for up to their `timeoutMs` (5 s) and then fail with
   * `OVERLOADED`. Default 10 000.
   */
  maxQueued?: number;
  /** How long `close` tries to write the remaining events. Default 5 s. */
  closeTimeout?: Duration;
  /** Called for each accepted event that the store rejected, or that could not be written before the store closed. */
  onLost?: (lost: LostEvent) => void;
}

export interface BatchingStore extends Store {
  /** Writes all accepted events, including those of the views of tenants. */
  flush(): Promise<void>;
  forTenant(tenantId: string): BatchingStore;
}

const DEFAULT_TIMEOUT_MS = 5_000;
const MAX_BATCH = 1_000;
const CLOSE_RETRY_MS = 50;

/**
 * Wraps a store and writes events in batches. A batch that fails with a retryable error is retried. A rejected batch is
 * written event by event, so that only the invalid event is lost. Accepted events that are not yet written are lost if
 * the process exits without closing the store.
 *
 * @throws `INVALID_ARGUMENT` for an invalid option.
 *
 * @example
 * await using store = withBatching(await open('sqlite:app.db'), { maxDelay: '20ms' });
 * await store.runs.handle('order-42').append('RunStarted');
 */
export function withBatching(store: Store, options: BatchingOptions = {}): BatchingStore {
  const limits = {
    maxBatch: checkInteger(options.maxBatch ?? 100, 'maxBatch', 1, MAX_BATCH),
    maxDelayMs: checkDuration(options.maxDelay ?? 50, 'maxDelay'),
    maxQueued: checkInteger(options.maxQueued ?? 10_000, 'maxQueued', 1),
    closeTimeoutMs: checkDuration(options.closeTimeout ?? DEFAULT_TIMEOUT_MS, 'closeTimeout'),
  };
  return new BatchedStore(store, new BatchedView(store, limits, options.onLost ?? (() => {})), null);
}

class BatchedStore extends InterceptedStore implements BatchingStore {
  readonly #view: BatchedView;
  readonly #root: BatchedStore | null;
  /**
   * One view, and therefore one queue, per tenant: the tenant's events stay in order even if `forTenant` is called
   * several times.
   */
  readonly #views = new Map<string, BatchedStore>();
  #closing: Promise<void> | undefined;

  constructor(store: Store, view: BatchedView, root: BatchedStore | null) {
    super(store, view);
    this.#view = view;
    this.#root = root;
  }

  override forTenant(tenantId: string): BatchingStore {
    const root = this.#root ?? this;
    const known = root.#views.get(tenantId);
    if (known && (this === root || this === known)) return known;
    const inner = this.inner.forTenant(tenantId);
    const view = new BatchedStore(inner, this.#view.of(inner), root);
    root.#views.set(tenantId, view);
    return view;
  }

  async flush(): Promise<void> {
    await Promise.all([this, ...this.#views.values()].map((it) => it.#view.flush()));
  }

  override close(): Promise<void> {
    if (this.#root) return this.#view.flush();
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    const flushed = await Promise.allSettled([this, ...this.#views.values()].map((it) => it.#view.finish()));
    await this.inner.close();
    const failed = flushed.find((it) => it.status === 'rejected');
    if (failed) throw failed.reason;
  }
}

interface WaitingAppend {
  event: RunEventInput;
  resolve: (result: AppendResult) => void;
  reject: (error: unknown) => void;
}

type AcceptedEvent =
  | { method: 'saveEvent'; event: StoredEvent }
  | { method: 'savePlannerEvent'; traceId: string; event: PlannerEvent };

type ViewLimits = BatchLimits & { closeTimeoutMs: number };

/** The queues of one view. */
class BatchedView implements Interceptor {
  readonly #store: Store;
  readonly #limits: ViewLimits;
  readonly #onLost: (lost: LostEvent) => void;
  readonly #appends: Batcher<WaitingAppend>;
  readonly #events: Batcher<AcceptedEvent>;
  /** Rejected events of a batch whose other events are retried. */
  readonly #refused = new WeakSet<AcceptedEvent>();
  #isClosed = false;

  constructor(store: Store, limits: ViewLimits, onLost: (lost: LostEvent) => void) {
    this.#store = store;
    this.#limits = limits;
    this.#onLost = onLost;
    this.#appends = new Batcher(limits, (batch) => this.#append(batch));
    this.#events = new Batcher(limits, (batch) => this.#save(batch));
  }

  of(store: Store): BatchedView {
    return new BatchedView(store, this.#limits, this.#onLost);
  }

  async call(call: StoreCall, proceed: () => Promise<unknown>): Promise<unknown> {
    const { domain, method, args } = call;
    if (domain === 'runs') {
      if (method === 'appendEvent' && isPlain(args[1])) return this.#enqueueAppend(args[0] as RunEventInput);
      await this.#appends.flush();
    }
    if (domain === 'agents') {
      if (method === 'saveEvent') return this.#accept({ method, event: copyPlain(args[0] as StoredEvent) }, args[1]);
      if (method === 'savePlannerEvent')
        return this.#accept({ method, traceId: args[0] as string, event: copyPlain(args[1] as PlannerEvent) }, args[2]);
    }
    if (factsOf(call).afterEvents) await this.#events.flush();
    return proceed();
  }

  async *iterate(call: StoreCall, proceed: () => AsyncIterable<unknown>): AsyncIterable<unknown> {
    if (call.domain === 'runs') await this.#appends.flush();
    if (factsOf(call).afterEvents) await this.#events.flush();
    yield* proceed();
  }

  async flush(): Promise<void> {
    await Promise.all([this.#appends.flush(), this.#events.flush()]);
  }

  /** Flushes for the last time. Events that cannot be written in time are lost and reported. */
  async finish(): Promise<void> {
    this.#isClosed = true;
    const deadline = Date.now() + this.#limits.closeTimeoutMs;
    for (;;) {
      try {
        return await this.flush();
      } catch (error) {
        if (Date.now() >= deadline) return this.#giveUp(error);
        await sleep(CLOSE_RETRY_MS);
      }
    }
  }

  #giveUp(error: unknown): never {
    for (const { reject } of this.#appends.drain()) reject(error);
    for (const lost of this.#events.drain()) this.#report({ ...lost, error });
    throw error;
  }

  #report(lost: LostEvent): void {
    try {
      this.#onLost(lost);
    } catch {
      // A failing callback must not stop the other reports or the events that follow.
    }
  }

  async #accept(event: AcceptedEvent, options: unknown): Promise<void> {
    const { signal, timeoutMs = DEFAULT_TIMEOUT_MS } = (options ?? {}) as CallOptions;
    this.#checkOpen();
    if (signal?.aborted)
      throw new TidemarkError('ABORTED', 'The call was aborted before it began', { cause: signal.reason });
    await this.#events.add(event, timeoutMs);
  }

  #checkOpen(): void {
    if (this.#isClosed) throw new TidemarkError('STORE_CLOSED', 'The store is closed; open it again to continue');
  }

  async #enqueueAppend(event: RunEventInput): Promise<AppendResult> {
    this.#checkOpen();
    return new Promise((resolve, reject) => {
      this.#appends.add({ event: copyPlain(event), resolve, reject }, DEFAULT_TIMEOUT_MS).catch(reject);
    });
  }

  /** Resolves or rejects every caller of the batch. Never fails itself. */
  async #append(batch: readonly WaitingAppend[]): Promise<void> {
    try {
      const results = await this.#store.runs.appendEvents(batch.map(({ event }) => event));
      for (const [at, { resolve }] of batch.entries()) resolve(results[at]!);
    } catch (error) {
      if (isPartlyRefused(error)) await this.#settleEach(batch);
      else if (isTidemarkError(error) && error.retryable)
        for (const it of batch) it.reject(this.#errorOf(error, it.event));
      else await this.#appendEach(batch);
    }
  }

  /** Appends the events of a rejected batch one by one. Nothing of it was written. */
  async #appendEach(batch: readonly WaitingAppend[]): Promise<void> {
    for (const { event, resolve, reject } of batch) await this.#store.runs.appendEvent(event).then(resolve, reject);
  }

  /** Appends the events of a partly written batch one by one. Events that were written are found as duplicates. */
  async #settleEach(batch: readonly WaitingAppend[]): Promise<void> {
    for (const { event, resolve, reject } of batch)
      await this.#store.runs.appendEvent(event).then(resolve, (error) => {
        const isOpen = isTidemarkError(error) && error.retryable;
        reject(
          isOpen ? this.#errorOf(new TidemarkError('OUTCOME_UNKNOWN', error.message, { cause: error }), event) : error,
        );
      });
  }

  /** Returns the error of a batch for one of its events. */
  #errorOf({ code, message, cause }: TidemarkError, event: RunEventInput): unknown {
    const tenantId = this.#store.info.tenantId ?? null;
    return withWrite(new TidemarkError(code, message, { cause }), writeCall(tenantId, 'runs', 'appendEvent', [event]));
  }

  async #save(batch: readonly AcceptedEvent[]): Promise<void> {
    const flow = batch.filter((it) => it.method === 'saveEvent');
    const planner = Map.groupBy(
      batch.filter((it) => it.method === 'savePlannerEvent'),
      (it) => it.traceId,
    );
    const { agents } = this.#store;
    const saved = await Promise.allSettled([
      flow.length === 0 ? undefined : this.#saveFlow(flow),
      ...[...planner.values()].map((events) =>
        this.#saveEach(events, ({ traceId, event }) => agents.savePlannerEvent(traceId, event)),
      ),
    ]);
    const failed = saved.find((it) => it.status === 'rejected');
    if (failed) throw failed.reason;
  }

  async #saveFlow(events: readonly (AcceptedEvent & { method: 'saveEvent' })[]): Promise<void> {
    const { agents } = this.#store;
    try {
      await agents.saveEvents(events.map(({ event }) => event));
    } catch (error) {
      if (isTidemarkError(error) && error.retryable) throw error;
      await this.#saveEach(events, ({ event }) => agents.saveEvent(event));
    }
  }

  /**
   * Saves events in order. Rejected events are reported; a retryable error stops the rest. On retry, events that are
   * already stored are not stored twice.
   */
  async #saveEach<T extends AcceptedEvent>(events: readonly T[], send: (it: T) => Promise<void>): Promise<void> {
    for (const it of events) {
      if (this.#refused.has(it)) continue;
      try {
        await send(it);
      } catch (error) {
        if (isTidemarkError(error) && error.retryable) throw error;
        this.#refused.add(it);
        this.#report({ ...it, error });
      }
    }
  }
}

/** Whether one run of the batch, which the error names, was rejected while others may have been written. */
function isPartlyRefused(error: unknown): boolean {
  return isTidemarkError(error, 'OUTCOME_UNKNOWN') && error.runId !== undefined;
}

/** Whether no option is set that prevents batching an append with others. */
function isPlain(options: unknown): boolean {
  return Object.values(Object(options)).every((it) => it === undefined);
}

/** Copies plain JSON, since the caller may change it later. Other values are not copied; the store rejects them. */
function copyPlain<T>(value: T, depth = 0): T {
  if (depth > MAX_JSON_DEPTH) return value;
  if (Array.isArray(value)) return value.map((item) => copyPlain(item, depth + 1)) as T;
  if (!isPlainObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([key, member]) => [key, copyPlain(member, depth + 1)])) as T;
}
