/** The memory store: the whole contract without durability, and the reference for the other engines. */

import type { Store, StoreOptions } from '../contracts/store.ts';
import { keyedAgents } from '../keyed/agents/agents.ts';
import { keyedArtifacts } from '../keyed/artifacts.ts';
import { keyedTenancy } from '../keyed/tenancy.ts';
import { expirySweep } from '../runs/expiring.ts';
import { assembleStore } from '../store.ts';
import { artifactSweep, Cleaner } from '../tools/cleaner.ts';
import { SteadyClock } from '../tools/clock.ts';
import { StoreContext } from '../tools/context.ts';
import { memoryBlobs } from './blobs.ts';
import { memoryJournal } from './journal.ts';
import { memoryRecords } from './records.ts';
import { MemoryRuns } from './runs.ts';

/**
 * Opens a store that keeps its data in this process's memory, for tests, for trials, and as the model in model-based
 * tests. The data is lost when the process ends.
 *
 * @example
 * const store = memoryStore();
 * await store.runs.handle('order-42').append('RunStarted');
 */
export function memoryStore(options?: StoreOptions): Store {
  const context = new StoreContext({ ...options, clock: new SteadyClock(options).now });
  const journal = memoryJournal(context);
  const records = memoryRecords(context);
  const blobs = memoryBlobs(context);
  const runs = new MemoryRuns(context, journal, records);
  const artifacts = keyedArtifacts(context, records, blobs);
  const cleaner = new Cleaner([
    (_, limit) => records.removeExpired(limit),
    artifactSweep(artifacts, context.clock),
    expirySweep(runs, context.expiry),
  ]);
  return assembleStore(context, {
    backend: 'memory',
    version: process.versions.node,
    clock: 'process',
    can: {
      'runs.denseSequences': true,
      'runs.feed': true,
      'runs.redaction': true,
      'runs.notices': true,
      'runs.listByUpdate': true,
      'runs.inlineProjections': true,
      'kv.watch': true,
      'kv.atomicBatch': true,
    },
    durability: () => 'none',
    runs,
    kv: records,
    agents: keyedAgents(journal, records, context),
    artifacts,
    tenancy: keyedTenancy(journal, records, blobs, artifacts, runs),
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
    close: () => cleaner.stop(),
  });
}
