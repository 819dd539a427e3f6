/** What a store reports to `onAlert`, besides the errors of its calls: things that an operator should know of. */

export type StoreAlert = HeadWentBack | RunQuarantined;

/** Damage was found in a run: feeds pass over it from `fromSeq` on until it is repaired and released. */
export interface RunQuarantined {
  code: 'RUN_QUARANTINED';
  severity: 'P2';
  tenantId: string;
  runId: string;
  fromSeq: number;
  reason: string;
}

/** A run lost events that were there before, without a redaction, restore or removal that explains it. */
export interface HeadWentBack {
  code: 'HEAD_WENT_BACK';
  severity: 'P1';
  tenantId: string;
  runId: string;
  /** The last sequence that was seen before. */
  knownSeq: number;
  /** The last sequence now; where it is not lower, another event is at `knownSeq`. */
  currentSeq: number;
}
