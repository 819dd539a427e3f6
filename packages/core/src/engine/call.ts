/** How a call to an engine is bounded. */
export interface EngineCall {
  signal?: AbortSignal;
  /** Milliseconds on the engine's own clock of `Date.now()`: when to give up. */
  deadline?: number;
  /**
   * How far a write has come, kept by those who queue it: what still waits when its time is up was not written, what
   * has begun may have been (GEN-3, GEN-8).
   */
  phase?: 'waiting' | 'begun' | 'given up';
  /** Where a list notes what it left out because it is damaged. A list that is given none fails after the rest was read. */
  damaged?: string[];
  /** The tenant of the view the call came through; `null` for the operator's. */
  tenantId?: string | null;
}
