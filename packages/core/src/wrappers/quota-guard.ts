/** Holds what calls are about to take of a tenant's quota, exactly within this process, and gives back what they did not. */
import { checkInteger } from '../checks/numbers.ts';
import { checkObject } from '../checks/text.ts';
import { type CallName, factsOf } from '../contracts/calls.ts';
import { invalidArgument, isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { Store } from '../contracts/store.ts';
import { DEFAULT_TENANT } from '../store.ts';
import { LruMap } from '../tools/lru-map.ts';
import type { Interceptor, StoreCall } from './intercept.ts';
import type { QuotaOptions, TenantQuota } from './quota-options.ts';
import { type QuotaUsage, SharedUsage } from './quota-usage.ts';
import { TokenBucket } from './token-bucket.ts';

const FLUSH_AFTER_MS = 1_000;
const MOST_KNOWN_RUNS = 10_000;

export type Proceed = (args?: readonly unknown[]) => Promise<unknown>;

/** What is done around a call that adds or removes what is counted. */
export type GuardedCall = (guard: QuotaGuard, call: StoreCall, proceed: Proceed) => Promise<unknown>;

/** One for each call that the table of calls marks as counted. */
export type GuardedCalls = Record<CallName<{ counted: true }>, GuardedCall>;

export class QuotaGuard implements Interceptor {
  readonly #store: Store;
  readonly #options: QuotaOptions;
  readonly #guarded: Partial<Record<string, GuardedCall>>;
  readonly #clock: () => number;
  readonly #usages = new Map<string, SharedUsage>();
  readonly #buckets = new Map<string, { bucket: TokenBucket; of: string }>();
  /** Runs known to exist, and new ones under way with how many calls wait for them. */
  readonly #existing = new LruMap<string, true>(MOST_KNOWN_RUNS);
  readonly #beginning = new Map<string, number>();
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
    const events = eventsOf(call);
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

  /** The store or view a call was made on. */
  target({ tenantId }: StoreCall): Store {
    return tenantId === undefined ? this.#store : this.#store.forTenant(tenantId);
  }

  /** Takes tokens for so many events, and gives them back when the call fails. */
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

  /** Holds runs that may be new and bytes while the call is made; `came` says what of it came to be. */
  async holding<T>(
    tenantId: string,
    wanted: { runIds: readonly string[]; bytes: number },
    proceed: () => Promise<T>,
    came: (result: T) => { newRuns: readonly string[]; bytes: number },
  ): Promise<T> {
    const { runs: mostRuns, bytes: mostBytes } = this.quotaOf(tenantId);
    if (mostRuns === undefined && mostBytes === undefined) return proceed();
    const usage = this.usageOf(tenantId);
    await usage.current();
    if (!this.#hasRoomForRuns(tenantId, wanted.runIds)) await this.#lookFor(tenantId, wanted.runIds);
    const { unknown, held } = this.#hold(tenantId, wanted);
    try {
      const result = await proceed();
      const { newRuns, bytes } = came(result);
      const begun = new Set(newRuns.map((runId) => keyOf(tenantId, runId)));
      this.#settle(usage, unknown, begun, held.bytes, bytes);
      for (const runId of wanted.runIds) this.#remember(keyOf(tenantId, runId));
      return result;
    } catch (error) {
      // What may have been written stays counted: the same call sent again finds a duplicate, which is not.
      const isUnknown = isTidemarkError(error) && error.outcome === 'unknown';
      this.#settle(usage, unknown, new Set(isUnknown ? unknown : []), held.bytes, isUnknown ? held.bytes : 0);
      throw error;
    }
  }

  #settle(
    usage: SharedUsage,
    unknown: readonly string[],
    begun: ReadonlySet<string>,
    heldBytes: number,
    cameBytes: number,
  ): void {
    const released = this.#end(unknown, begun);
    usage.settle({ runs: released, bytes: heldBytes }, { runs: begun.size, bytes: cameBytes });
    this.#flushSoon();
  }

  /** Holds all that the call may take, in one step with the decision that there is room for it. */
  #hold(tenantId: string, { runIds, bytes }: { runIds: readonly string[]; bytes: number }) {
    const { runs: mostRuns, bytes: mostBytes } = this.quotaOf(tenantId);
    const usage = this.usageOf(tenantId);
    if (mostBytes !== undefined && bytes > 0 && usage.total.bytes + bytes > mostBytes)
      throw exceeded('bytes', mostBytes, tenantId);
    if (!this.#hasRoomForRuns(tenantId, runIds)) throw exceeded('runs', mostRuns!, tenantId);
    const unknown = this.#unknown(tenantId, runIds);
    const held = { runs: this.#begin(unknown), bytes };
    usage.hold(held.runs, held.bytes);
    return { unknown, held };
  }

  #hasRoomForRuns(tenantId: string, runIds: readonly string[]): boolean {
    const { runs } = this.quotaOf(tenantId);
    if (runs === undefined) return true;
    const more = this.#unknown(tenantId, runIds).filter((run) => !this.#beginning.has(run)).length;
    return more === 0 || this.usageOf(tenantId).total.runs + more <= runs;
  }

  /** Those of the runs that may be new. */
  #unknown(tenantId: string, runIds: readonly string[]): string[] {
    return [...new Set(runIds)].map((runId) => keyOf(tenantId, runId)).filter((run) => !this.#existing.has(run));
  }

  /** Asks the store which runs exist: at the limit those go on. */
  async #lookFor(tenantId: string, runIds: readonly string[]): Promise<void> {
    for (const runId of new Set(runIds)) {
      if ((await this.#store.runs.headSeq(runId, { tenantId })) > 0) this.#remember(keyOf(tenantId, runId));
    }
  }

  /** A run that several calls are about to begin is held once; gives how many are held for this call. */
  #begin(runs: readonly string[]): number {
    let held = 0;
    for (const run of runs) {
      const waiting = this.#beginning.get(run) ?? 0;
      if (waiting === 0) held++;
      this.#beginning.set(run, waiting + 1);
    }
    return held;
  }

  /** Who has begun a run, or is the last to wait for it, gives back what is held for it. */
  #end(runs: readonly string[], begun: ReadonlySet<string>): number {
    let released = 0;
    for (const run of runs) {
      const waiting = this.#beginning.get(run);
      if (waiting === undefined) continue;
      if (waiting > 1 && !begun.has(run)) this.#beginning.set(run, waiting - 1);
      else if (this.#beginning.delete(run)) released++;
    }
    return released;
  }

  #remember(run: string): void {
    this.#existing.set(run, true);
  }

  /** Less is there than before. */
  lower(tenantId: string, gone: QuotaUsage, runId?: string): void {
    if (runId !== undefined) this.#existing.delete(keyOf(tenantId, runId));
    const { runs, bytes } = this.quotaOf(tenantId);
    if (runs === undefined && bytes === undefined) return;
    this.usageOf(tenantId).settle({ runs: 0, bytes: 0 }, { runs: -gone.runs, bytes: -gone.bytes });
    this.#flushSoon();
  }

  /** A tenant that was erased begins anew. */
  forget(tenantId: string): void {
    this.#usages.delete(tenantId);
    for (const [run] of this.#existing) if (run.startsWith(keyOf(tenantId, ''))) this.#existing.delete(run);
  }

  #flushSoon(): void {
    this.#flushing ??= setTimeout(() => {
      this.#flushing = undefined;
      // What could not be told now is told by the next call, or when the store is closed.
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
  const it = checkObject(quota, 'limits');
  for (const name of ['eventsPerSecond', 'burst', 'runs', 'bytes'] as const)
    if (it[name] !== undefined) checkInteger(it[name], `limits.${name}`, name === 'runs' || name === 'bytes' ? 0 : 1);
  if (it.burst !== undefined && it.eventsPerSecond === undefined)
    throw invalidArgument('limits.burst', 'given together with eventsPerSecond', it.burst);
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

/** Ids have no NUL. */
function keyOf(tenantId: string, runId: string): string {
  return `${tenantId}\0${runId}`;
}

/** How many events a call brings. */
function eventsOf(call: StoreCall): number {
  const facts = factsOf(call);
  if (facts.kind !== 'write' || facts.events === undefined) return 0;
  if (facts.events === 'one') return 1;
  return Array.isArray(call.args[0]) ? call.args[0].length : 0;
}
