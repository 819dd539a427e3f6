/**
 * `withQuotas`: what a tenant may write and have. A call that would exceed it is `QUOTA_EXCEEDED` before anything is
 * written; what a call held and did not use is given back.
 */
import { checkId } from '../checks/text.ts';
import type { Store } from '../contracts/store.ts';
import { InterceptedStore } from './intercept.ts';
import { GUARDED_CALLS } from './quota-calls.ts';
import { QuotaGuard } from './quota-guard.ts';
import type { QuotaOptions } from './quota-options.ts';
import type { QuotaUsage } from './quota-usage.ts';

/** A store with quotas. */
export interface QuotaStore extends Store {
  /** What a tenant has, by what this process knows: others' writes of the last second may be missing. */
  usage(tenantId: string): Promise<QuotaUsage>;
  /** Counts what a tenant has anew, for when things were removed past this wrapper, have expired or were evicted. */
  recount(tenantId: string): Promise<QuotaUsage>;
}

/**
 * A store that refuses what exceeds a tenant's quota. Rates hold in each process; runs and bytes are shared through a
 * record in the tenant's KV that each process brings up to date about once a second, so that together they may exceed a
 * quota by what they write in that time.
 *
 * @example
 * const store = withQuotas(await open(url), { limits: { acme: { runs: 10_000 } }, default: { eventsPerSecond: 500 } });
 */
export function withQuotas(store: Store, options: QuotaOptions): QuotaStore {
  return new GuardedStore(store, new QuotaGuard(store, options, GUARDED_CALLS));
}

class GuardedStore extends InterceptedStore implements QuotaStore {
  readonly #guard: QuotaGuard;

  constructor(inner: Store, guard: QuotaGuard) {
    super(inner, guard);
    this.#guard = guard;
  }

  async usage(tenantId: string): Promise<QuotaUsage> {
    const usage = this.#guard.usageOf(checkId(tenantId, 'tenantId'));
    await usage.current();
    return usage.total;
  }

  async recount(tenantId: string): Promise<QuotaUsage> {
    return this.#guard.usageOf(checkId(tenantId, 'tenantId')).recount();
  }

  override async close(): Promise<void> {
    await this.#guard.flush();
    await super.close();
  }
}
