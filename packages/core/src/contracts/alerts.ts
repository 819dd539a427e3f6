/** Alerts that a store passes to `onAlert`: problems that an operator should know about. */

/** An alert, discriminated by `code`. */
export type StoreAlert = HeadWentBack | RunQuarantined;

/** Damage was found in a run. Feeds skip the run from `fromSeq` onwards until it is repaired and released. */
export interface RunQuarantined {
  code: 'RUN_QUARANTINED';
  severity: 'P2';
  tenantId: string;
  runId: string;
  fromSeq: number;
  reason: string;
}

/** A run lost events, and no redaction, restore or removal explains it. */
export interface HeadWentBack {
  code: 'HEAD_WENT_BACK';
  severity: 'P1';
  tenantId: string;
  runId: string;
  /** The last sequence that this process had seen. */
  knownSeq: number;
  /** The last sequence now. If it is not lower than `knownSeq`, a different event is at `knownSeq`. */
  currentSeq: number;
}
