/** Quarantined runs: damage that was found in one run, and the alert that tells of it. */
import type { PageOptions } from './common.ts';

/** A run that is damaged from a sequence on, or was until it was released. */
export interface QuarantinedRun {
  tenantId: string;
  runId: string;
  /** The first sequence that feeds pass over, and with which a release begins. */
  fromSeq: number;
  /** What is wrong, in words. */
  reason: string;
  /** When it was found: RFC 3339. */
  at: string;
  state: 'quarantined' | 'released';
  /** The number of the release, which only grows; 0 while the run is quarantined. */
  release: number;
}

/** Options of `listQuarantined`: 1 to 1 000 runs a page, default 100, by tenant and run id. */
export interface ListQuarantinedOptions extends PageOptions {
  tenantId?: string;
  /** Default: `quarantined`. */
  state?: 'quarantined' | 'released' | 'any';
}

/** Where a page of the feed passed over a quarantined run. */
export interface HeldRun {
  tenantId: string;
  runId: string;
  /** The first sequence of the run that the page passed over. After a release, begin with it. */
  runSeq: number;
  /** How many items of the page come before it. */
  index: number;
}
