/** The bounds of a call to an engine. */
export interface EngineCall {
  signal?: AbortSignal;
  /** The deadline, in milliseconds of `Date.now()` in the engine's process. */
  deadline?: number;
  /**
   * The progress of a write, maintained by the queue it waits in. At its deadline a write that is still `waiting` was
   * not written; one that has `begun` may have been (GEN-3, GEN-8).
   */
  phase?: 'waiting' | 'begun' | 'given up';
  /** Receives the names of damaged items that the list omitted. Without it, the list fails after reading the rest. */
  damaged?: string[];
  /** The tenant of the view that made the call; `null` for the operator's view. */
  tenantId?: string | null;
}
