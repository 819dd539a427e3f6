/** What the projector reports, and how it is doing. */
import type { TransitionViolation } from '@tidemark/core';
import type { ProjectorCounts } from './projector-counts.ts';

interface OfRun {
  tenantId: string;
  runId: string;
}

/** Something an operator should know of. */
export type ProjectorAlert =
  | { code: 'PROJECTOR_LAG_HIGH'; severity: 'P2'; lagMs: number }
  | ({ code: 'INVALID_TRANSITION'; severity: 'P3'; violation: TransitionViolation } & OfRun)
  /** Invalid events that the snapshot does not list: how many since the last alert, and of the whole run. */
  | ({ code: 'INVALID_TRANSITIONS_UNLISTED'; severity: 'P3'; count: number; invalidEvents: number } & OfRun)
  | ({ code: 'RUN_STALE'; severity: 'P3'; missingSeq: number } & OfRun)
  /** The run cannot be folded; the others go on. Raised once until the run can be folded again. */
  | ({ code: 'RUN_DAMAGED'; severity: 'P2'; runSeq?: number; reason: string } & OfRun)
  /** The run lost events that were folded before, and no redaction, restore or removal explains it. */
  | ({ code: 'HEAD_WENT_BACK'; severity: 'P1'; knownSeq: number; currentSeq: number } & OfRun);

/** How the projector is doing in this process. */
export interface ProjectorStatus extends ProjectorCounts {
  shards: number[];
  /**
   * Milliseconds that the oldest event has waited which is not in its snapshot yet, now; 0 when caught up. Also grows while the
   * feed cannot be read. `null` before the first page.
   */
  lagMs: number | null;
  /** Runs that cannot be folded because stored events are damaged. */
  damagedRuns: number;
}
