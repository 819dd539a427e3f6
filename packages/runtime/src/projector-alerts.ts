/** Alerts and status of the projector. */
import type { TransitionViolation } from '@tidemark/core';
import type { ProjectorCounts } from './projector-counts.ts';

interface OfRun {
  tenantId: string;
  runId: string;
}

/** A condition that an operator should know about. */
export type ProjectorAlert =
  | { code: 'PROJECTOR_LAG_HIGH'; severity: 'P2'; lagMs: number }
  | ({ code: 'INVALID_TRANSITION'; severity: 'P3'; violation: TransitionViolation } & OfRun)
  /** The number of invalid events that the snapshot does not list: since the last alert, and in the whole run. */
  | ({ code: 'INVALID_TRANSITIONS_UNLISTED'; severity: 'P3'; count: number; invalidEvents: number } & OfRun)
  | ({ code: 'RUN_STALE'; severity: 'P3'; missingSeq: number } & OfRun)
  /**
   * The run cannot be folded; other runs continue. The alert is raised once per incident, which ends when the run can
   * be folded again.
   */
  | ({ code: 'RUN_DAMAGED'; severity: 'P2'; runSeq?: number; reason: string } & OfRun)
  /** The run lost events that had been folded, and no redaction, restore or removal explains the loss. */
  | ({ code: 'HEAD_WENT_BACK'; severity: 'P1'; knownSeq: number; currentSeq: number } & OfRun);

/** Status of the projector in this process. */
export interface ProjectorStatus extends ProjectorCounts {
  shards: number[];
  /**
   * How long the oldest event that is not yet in a snapshot has been waiting, in milliseconds; 0 when up to date. The
   * value also grows while the feed cannot be read. `null` before the first page.
   */
  lagMs: number | null;
  /** Runs that cannot be folded because stored events are damaged. */
  damagedRuns: number;
}
