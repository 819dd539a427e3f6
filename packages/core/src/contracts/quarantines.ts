/** Quarantined runs: runs in which damage was found. */
import type { PageOptions } from './common.ts';

/** A run that is damaged from some sequence onwards, or that was repaired and released. */
export interface QuarantinedRun {
  tenantId: string;
  runId: string;
  /** The first sequence that feeds skip, and at which they continue after the release. */
  fromSeq: number;
  /** A description of the damage. */
  reason: string;
  /** When the damage was found: RFC 3339. */
  at: string;
  state: 'quarantined' | 'released';
  /** The number of the release, which only increases. 0 while the run is quarantined. */
  release: number;
}

/** Options of `listQuarantined`: 1 to 1 000 runs per page, default 100, in order of tenant and run id. */
export interface ListQuarantinedOptions extends PageOptions {
  tenantId?: string;
  /** Default `quarantined`. */
  state?: 'quarantined' | 'released' | 'any';
}

/** A quarantined run that a page of the feed skipped. */
export interface HeldRun {
  tenantId: string;
  runId: string;
  /** The first sequence of the run that the page skipped. Continue with it after a release. */
  runSeq: number;
  /** The number of items of the page before the skipped event. */
  index: number;
}
