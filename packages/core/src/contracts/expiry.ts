/** Runs that expire: the setting, and the result of removing expired runs. */
import type { Duration, PageOptions } from './common.ts';

/**
 * The label that makes a run expire. The first event of a run decides. Its value is a duration such as `30d`, counted
 * from the last event: the run expires once it has ended and has received no event for that long. With ` any` after the
 * duration, as in `1h any`, a run that has not ended expires too.
 */
export const EXPIRY_LABEL = 'tidemark.expires';

/** When a run expires. */
export interface RunExpiry {
  /** The time after the last event of the run. Every event moves the expiry. */
  after: Duration;
  /** Default `ended`: a run that is PENDING, RUNNING or PAUSED never expires. With `any`, it does. */
  status?: 'any' | 'ended';
}

/** Options of `deleteExpired`. */
export interface DeleteExpiredOptions extends PageOptions {
  /** Deletes only runs of this tenant. Default: all tenants that the store or view can reach. */
  tenantId?: string;
}

/** The result of `deleteExpired`. */
export interface ExpiredRuns {
  /** The number of runs that this call deleted. */
  deleted: number;
  /** Pass this as `cursor` to continue. Absent once all runs have been examined. */
  next?: string;
}
