/** What every SQL engine cleans up beside its work: what has expired, and what a crash left of removed runs. */
import { type AgentEngine, Cleaner, type EngineCall, type Records } from '@tidemark/core/engine';

export function sqlCleaner(
  records: Records,
  agents: AgentEngine,
  runs: { removeLeftovers(call: EngineCall): Promise<void> },
): Cleaner {
  return new Cleaner([
    (call, limit) => records.removeExpired(limit, call),
    (call, limit) => agents.pauses.removeExpired(limit, call),
    async (call) => {
      await runs.removeLeftovers(call);
      return 0;
    },
  ]);
}
