/** The memory store: the whole contract without durability; the reference the other engines are compared with. */
import { StoreContext } from '../context.ts';
import type { Store, StoreOptions } from '../contracts/store.ts';
import { keyedAgents } from '../keyed/agents/agents.ts';
import { keyedArtifacts } from '../keyed/artifacts.ts';
import { KeyedRuns } from '../keyed/runs.ts';
import { assembleStore } from '../store.ts';
import { memoryBlobs } from './blobs.ts';
import { memoryJournal } from './journal.ts';
import { memoryRecords } from './records.ts';

const CLEAN_EVERY_MS = 1_000;
const CLEAN_AT_MOST = 1_000;

/**
 * A store that lives and dies with the process: for tests, for trying things out, and as the model in model-based tests.
 *
 * @example
 * const store = createMemoryStore();
 * await store.runs.handle('order-42').append('RunStarted');
 */
export function createMemoryStore(options?: StoreOptions): Store {
  const context = new StoreContext(options);
  const journal = memoryJournal(context);
  const records = memoryRecords(context);
  const cleaner = setInterval(() => void records.removeExpired(CLEAN_AT_MOST, {}), CLEAN_EVERY_MS).unref();
  return assembleStore(context, {
    backend: 'memory',
    version: process.versions.node,
    can: { 'runs.denseSequences': true, 'runs.feed': true, 'kv.watch': true },
    durability: () => 'none',
    runs: new KeyedRuns(journal, records),
    kv: records,
    agents: keyedAgents(journal, records, context),
    artifacts: keyedArtifacts(records, memoryBlobs(context)),
    ping: async () => {},
    doctor: async () => ({
      durability: 'none',
      findings: [
        {
          check: 'durability',
          status: 'warn',
          message: 'Everything is lost when the process ends',
          fix: "Open a durable store, such as open('sqlite:app.db')",
        },
      ],
    }),
    close: async () => clearInterval(cleaner),
  });
}
