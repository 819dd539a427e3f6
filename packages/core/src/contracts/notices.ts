/** Notices of the feed: changes of runs other than new events. */

/** The kinds of notices. */
export const NOTICE_KINDS = ['deleted', 'archived', 'redacted', 'restored', 'quarantined', 'released'] as const;

/**
 * - `deleted`, `archived`: the run was removed. Its events do not appear in the feed any more.
 * - `redacted`: the payload of the event at `runSeq` was removed.
 * - `restored`: the run exists again. All its events follow.
 * - `quarantined`: the feed skips the run from `runSeq` onwards.
 * - `released`: the run was repaired. Its events from `runSeq` onwards follow, marked `released`.
 */
export type NoticeKind = (typeof NOTICE_KINDS)[number];

/** A change of a run other than a new event. */
export interface RunNotice {
  kind: NoticeKind;
  tenantId: string;
  runId: string;
  /** The life of the run: 1 for the first run with this id, and one more for each run that began after a deletion. */
  life: number;
  /** The sequence that `kind` refers to. Absent for notices about the whole run. */
  runSeq?: number;
}
