/** What quotas can be set. */

/** What a tenant may write and have; what is absent is not bounded. */
export interface TenantQuota {
  /** Events of runs and agents, updates and steering, in each process. */
  eventsPerSecond?: number;
  /** How many of them may come at once. Default: those of one second. */
  burst?: number;
  /** Runs that are there, archived and deleted ones not counted. */
  runs?: number;
  /** Bytes of the payloads of run events as JSON, and of artifacts. */
  bytes?: number;
}

export interface QuotaOptions {
  /** By tenant, or told by a function; `undefined` is not bounded. */
  limits: Record<string, TenantQuota> | ((tenantId: string) => TenantQuota | undefined);
  /** For tenants that `limits` says nothing of. */
  default?: TenantQuota;
  /** Milliseconds since the epoch; for tests. */
  clock?: () => number;
}
