/**
 * Background cleaning of every SQL engine: expired rows, and leftovers of runs whose removal was interrupted by a
 * crash.
 */
import {
  type AgentEngine,
  type ArtifactEngine,
  artifactSweep,
  Cleaner,
  type CleaningStep,
  type EngineCall,
  expirySweep,
  onceInAWhile,
  type Records,
  type RunEngine,
  type StoreContext,
} from '@tidemark/core/engine';

/** Finding leftovers reads all runs. */
const LEFTOVERS_EVERY_MS = 600_000;

interface Cleaned {
  records: Records;
  agents: AgentEngine;
  artifacts: ArtifactEngine;
  runs: RunEngine & { removeLeftovers(call: EngineCall): Promise<void> };
}

export function sqlCleaner(
  { records, agents, artifacts, runs }: Cleaned,
  { clock, expiry }: Pick<StoreContext, 'clock' | 'expiry'>,
  first: readonly CleaningStep[] = [],
): Cleaner {
  return new Cleaner([
    ...first,
    (call, limit) => records.removeExpired(limit, call),
    (call, limit) => agents.pauses.removeExpired(limit, call),
    (call, limit) => agents.memory.removeExpired(limit, call),
    onceInAWhile(LEFTOVERS_EVERY_MS, 0, async (call) => {
      await runs.removeLeftovers(call);
      return 0;
    }),
    artifactSweep(artifacts, clock),
    expirySweep(runs, expiry),
  ]);
}
