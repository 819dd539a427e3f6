/** A run's identity (RUN-8). */
export interface RunKey {
  tenantId: string;
  runId: string;
}
