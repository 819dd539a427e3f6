/** The options of `withQuotas`. */

/** Limits of one tenant. A limit that is absent is not enforced. */
export interface TenantQuota {
  /** Events of runs and agents, updates and steering that each process may write per second. */
  eventsPerSecond?: number;
  /** How many of these events may be written at once. Default: the events of one second. */
  burst?: number;
  /** Stored runs. Archived and deleted runs are not counted. */
  runs?: number;
  /** Bytes of the payloads of run events as JSON, and of artifacts. */
  bytes?: number;
}

export interface QuotaOptions {
  /** Limits by tenant, or a function that returns them. A tenant without limits uses `default`. */
  limits: Record<string, TenantQuota> | ((tenantId: string) => TenantQuota | undefined);
  /** Limits of tenants that `limits` does not cover. If absent, such tenants have no limits. */
  default?: TenantQuota;
  /** Returns milliseconds since the epoch; for tests. */
  clock?: () => number;
}
