/** Reserves a tenant's quota before each call, and releases the unused part afterwards. Exact within this process. */
import { checkInteger } from '../checks/numbers.ts';
import { checkObject } from '../checks/text.ts';
import { type CallName, factsOf } from '../contracts/calls.ts';
import { invalidArgument, isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { Store } from '../contracts/store.ts';
import { DEFAULT_TENANT } from '../runs/view.ts';
import { LruMap } from '../tools/lru-map.ts';
import type { Interceptor, StoreCall } from './intercept.ts';
import type { QuotaOptions, TenantQuota } from './quota-options.ts';
import { type QuotaUsage, SharedUsage } from './quota-usage.ts';
import { TokenBucket } from './token-bucket.ts';

const FLUSH_AFTER_MS = 1_000;
const MAX_KNOWN_RUNS = 10_000;

export type Proceed = (args?: readonly unknown[]) => Promise<unknown>;

/** Wraps a call that adds or removes runs or bytes. */
export type GuardedCall = (guard: QuotaGuard, call: StoreCall, proceed: Proceed) => Promise<unknown>;

/** A wrapper for each call that the table of calls marks as counted. */
export type GuardedCalls = Record<CallName<{ counted: true }>, GuardedCall>;

export class QuotaGuard implements Interceptor {
  readonly #store: Store;
  readonly #options: QuotaOptions;
  readonly #guarded: Partial<Record<string, GuardedCall>>;
  readonly #clock: () => number;
  readonly #usages = new Map<string, SharedUsage>();
  readonly #buckets = new Map<string, { bucket: TokenBucket; of: string }>();
  /** Runs known to exist. */
  readonly #existing = new LruMap<string, true>(MAX_KNOWN_RUNS);
  /** Runs that may be created by calls in progress, with the number of those calls. */
  readonly #creating = new Map<string, number>();
  #flushing: NodeJS.Timeout | undefined;

  constructor(store: Store, options: QuotaOptions, guarded: GuardedCalls) {
    const { limits } = checkObject(options, 'options');
    if (typeof limits !== 'function')
      for (const quota of Object.values(checkObject(limits, 'limits'))) checkQuota(quota);
    if (options.default !== undefined) checkQuota(options.default);
    this.#store = store;
    this.#options = options;
    this.#guarded = guarded;
    this.#clock = options.clock ?? Date.now;
  }

  async call(call: StoreCall, proceed: Proceed): Promise<unknown> {
    const guarded = this.#guarded[`${call.domain}.${call.method}`];
    if (guarded) return guarded(this, call, proceed);
    const events = countEvents(call);
    return events === 0 ? proceed() : this.atRate(call.tenantId ?? DEFAULT_TENANT, events, proceed);
  }

  quotaOf(tenantId: string): TenantQuota {
    const { limits, default: others } = this.#options;
    const own =
      typeof limits === 'function' ? limits(tenantId) : Object.hasOwn(limits, tenantId) ? limits[tenantId] : undefined;
    return own ?? others ?? {};
  }

  usageOf(tenantId: string): SharedUsage {
    const usage = this.#usages.get(tenantId) ?? new SharedUsage(this.#store.forTenant(tenantId), this.#clock);
    this.#usages.set(tenantId, usage);
    return usage;
  }

  /** Returns the store or view that was called. */
  target({ tenantId }: StoreCall): Store {
    return tenantId === undefined ? this.#store : this.#store.forTenant(tenantId);
  }

  /**
   * Takes tokens for `events` events, and returns the tokens when the call fails. Throws `QUOTA_EXCEEDED` if there are
   * not enough.
   */
  async atRate<T>(tenantId: string, events: number, proceed: () => Promise<T>): Promise<T> {
    const bucket = this.#bucketOf(tenantId);
    const waitMs = bucket?.take(events) ?? 0;
    if (waitMs > 0)
      throw exceeded('eventsPerSecond', this.quotaOf(tenantId).eventsPerSecond!, tenantId, { retryAfterMs: waitMs });
    try {
      return await proceed();
    } catch (error) {
      bucket?.giveBack(events);
      throw error;
    }
  }

  giveBackEvents(tenantId: string, events: number): void {
    this.#bucketOf(tenantId)?.giveBack(events);
  }

  #bucketOf(tenantId: string): TokenBucket | null {
    const { eventsPerSecond, burst } = this.quotaOf(tenantId);
    if (eventsPerSecond === undefined) return null;
    const of = `${eventsPerSecond} ${burst}`;
    let known = this.#buckets.get(tenantId);
    if (known?.of !== of) {
      const room = burst ?? Math.max(1, eventsPerSecond);
      known = { bucket: new TokenBucket(eventsPerSecond, room, this.#clock), of };
      this.#buckets.set(tenantId, known);
    }
    return known.bucket;
  }

  /** Reserves possibly new runs and bytes during the call. `usedBy` returns the part that the call has used. */
  async holding<T>(
    tenantId: string,
    wanted: { runIds: readonly string[]; bytes: number },
    proceed: () => Promise<T>,
    usedBy: (result: T) => { newRuns: readonly string[]; bytes: number },
  ): Promise<T> {
    const { runs: mostRuns, bytes: mostBytes } = this.quotaOf(tenantId);
    if (mostRuns === undefined && mostBytes === undefined) return proceed();
    const usage = this.usageOf(tenantId);
    await usage.current();
    if (!this.#hasRoomForRuns(tenantId, wanted.runIds)) await this.#findExisting(tenantId, wanted.runIds);
    const { unknown, held } = this.#hold(tenantId, wanted);
    try {
      const result = await proceed();
      const { newRuns, bytes } = usedBy(result);
      const created = new Set(newRuns.map((runId) => keyOf(tenantId, runId)));
      this.#settle(usage, unknown, created, held.bytes, bytes);
      for (const runId of wanted.runIds) this.#remember(keyOf(tenantId, runId));
      return result;
    } catch (error) {
      // A write of unknown outcome stays counted. A retry finds a duplicate, which is not counted again.
      const isUnknown = isTidemarkError(error) && error.outcome === 'unknown';
      this.#settle(usage, unknown, new Set(isUnknown ? unknown : []), held.bytes, isUnknown ? held.bytes : 0);
      throw error;
    }
  }

  #settle(
    usage: SharedUsage,
    unknown: readonly string[],
    created: ReadonlySet<string>,
    heldBytes: number,
    usedBytes: number,
  ): void {
    const released = this.#releaseRuns(unknown, created);
    usage.settle({ runs: released, bytes: heldBytes }, { runs: created.size, bytes: usedBytes });
    this.#flushSoon();
  }

  /** Checks that there is room for the call and reserves it, synchronously, so that no other call comes in between. */
  #hold(tenantId: string, { runIds, bytes }: { runIds: readonly string[]; bytes: number }) {
    const { runs: mostRuns, bytes: mostBytes } = this.quotaOf(tenantId);
    const usage = this.usageOf(tenantId);
    if (mostBytes !== undefined && bytes > 0 && usage.total.bytes + bytes > mostBytes)
      throw exceeded('bytes', mostBytes, tenantId);
    if (!this.#hasRoomForRuns(tenantId, runIds)) throw exceeded('runs', mostRuns!, tenantId);
    const unknown = this.#unknown(tenantId, runIds);
    const held = { runs: this.#reserveRuns(unknown), bytes };
    usage.hold(held.runs, held.bytes);
    return { unknown, held };
  }

  #hasRoomForRuns(tenantId: string, runIds: readonly string[]): boolean {
    const { runs } = this.quotaOf(tenantId);
    if (runs === undefined) return true;
    const more = this.#unknown(tenantId, runIds).filter((run) => !this.#creating.has(run)).length;
    return more === 0 || this.usageOf(tenantId).total.runs + more <= runs;
  }

  /** Returns the runs that may be new. */
  #unknown(tenantId: string, runIds: readonly string[]): string[] {
    return [...new Set(runIds)].map((runId) => keyOf(tenantId, runId)).filter((run) => !this.#existing.has(run));
  }

  /** Reads which runs exist: at the limit, appends to existing runs are still allowed. */
  async #findExisting(tenantId: string, runIds: readonly string[]): Promise<void> {
    for (const runId of new Set(runIds)) {
      if ((await this.#store.runs.headSeq(runId, { tenantId })) > 0) this.#remember(keyOf(tenantId, runId));
    }
  }

  /** Reserves a run once even if several calls are about to create it. Returns how many runs this call reserved. */
  #reserveRuns(runs: readonly string[]): number {
    let held = 0;
    for (const run of runs) {
      const waiting = this.#creating.get(run) ?? 0;
      if (waiting === 0) held++;
      this.#creating.set(run, waiting + 1);
    }
    return held;
  }

  /** Releases a run's reservation when the call has created the run or is the last one in progress for it. */
  #releaseRuns(runs: readonly string[], created: ReadonlySet<string>): number {
    let released = 0;
    for (const run of runs) {
      const waiting = this.#creating.get(run);
      if (waiting === undefined) continue;
      if (waiting > 1 && !created.has(run)) this.#creating.set(run, waiting - 1);
      else if (this.#creating.delete(run)) released++;
    }
    return released;
  }

  #remember(run: string): void {
    this.#existing.set(run, true);
  }

  /** Subtracts removed runs and bytes from the usage. */
  lower(tenantId: string, gone: QuotaUsage, runId?: string): void {
    if (runId !== undefined) this.#existing.delete(keyOf(tenantId, runId));
    const { runs, bytes } = this.quotaOf(tenantId);
    if (runs === undefined && bytes === undefined) return;
    this.usageOf(tenantId).settle({ runs: 0, bytes: 0 }, { runs: -gone.runs, bytes: -gone.bytes });
    this.#flushSoon();
  }

  /** Forgets the usage of an erased tenant. */
  forget(tenantId: string): void {
    this.#usages.delete(tenantId);
    for (const [run] of this.#existing) if (run.startsWith(keyOf(tenantId, ''))) this.#existing.delete(run);
  }

  /** Forgets all usages, so that they are counted again. For calls that change several tenants. */
  forgetAll(): void {
    for (const tenantId of [...this.#usages.keys()]) this.forget(tenantId);
  }

  #flushSoon(): void {
    this.#flushing ??= setTimeout(() => {
      this.#flushing = undefined;
      // If this fails, the next call or `close` syncs the usage.
      this.flush().catch(() => {});
    }, FLUSH_AFTER_MS).unref();
  }

  async flush(): Promise<void> {
    clearTimeout(this.#flushing);
    this.#flushing = undefined;
    const ahead = [...this.#usages.values()].filter((usage) => usage.isAhead);
    await Promise.all(ahead.map((usage) => usage.sync()));
  }
}

function checkQuota(quota: unknown): void {
  const given = checkObject(quota, 'limits');
  for (const name of ['eventsPerSecond', 'burst', 'runs', 'bytes'] as const)
    if (given[name] !== undefined)
      checkInteger(given[name], `limits.${name}`, name === 'runs' || name === 'bytes' ? 0 : 1);
  if (given.burst !== undefined && given.eventsPerSecond === undefined)
    throw invalidArgument('limits.burst', 'given together with eventsPerSecond', given.burst);
}

export function exceeded(
  quota: keyof TenantQuota,
  size: number,
  tenantId: string,
  details: { retryAfterMs?: number; runId?: string | undefined } = {},
): TidemarkError {
  const message = `Tenant ${JSON.stringify(tenantId)} has used up its quota: ${quota} is ${size}; nothing was written`;
  return new TidemarkError('QUOTA_EXCEEDED', message, { field: quota, rule: `at most ${size}`, ...details });
}

/** Ids cannot contain NUL. */
function keyOf(tenantId: string, runId: string): string {
  return `${tenantId}\0${runId}`;
}

/** Returns how many events a call writes. */
function countEvents(call: StoreCall): number {
  const facts = factsOf(call);
  if (facts.kind !== 'write' || facts.events === undefined) return 0;
  if (facts.events === 'one') return 1;
  return Array.isArray(call.args[0]) ? call.args[0].length : 0;
}
