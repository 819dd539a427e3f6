/**
 * `withQuotas`: limits what a tenant may write and store. A call that would exceed a quota fails with `QUOTA_EXCEEDED`
 * before anything is written. Reserved quota that a call does not use is released.
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
  /** Returns the usage of a tenant. Writes of other processes within the last second may be missing. */
  usage(tenantId: string): Promise<QuotaUsage>;
  /** Counts the usage of a tenant again. Needed when data expired, was evicted or was removed without this wrapper. */
  recount(tenantId: string): Promise<QuotaUsage>;
}

/**
 * Wraps a store and enforces quotas of tenants. Calls that would exceed a quota fail with `QUOTA_EXCEEDED` and write
 * nothing. Rates apply to each process. Runs and bytes are shared through a record in the tenant's KV that each process
 * updates about once a second, so several processes together may exceed a quota by the amount they write in that time.
 *
 * @throws `INVALID_ARGUMENT` for invalid limits.
 *
 * @example
 * const limits = { acme: { runs: 10_000 } };
 * const store = withQuotas(await open('sqlite:app.db'), { limits, default: { eventsPerSecond: 500 } });
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
