/** One of several processes that run the kit on one file at the same time. Prints the failures as JSON. */
import { runConformance, type StoreUnderTest } from '@tidemark/conformance';
import { sqliteStore } from '@tidemark/sqlite';

const path = process.argv[2]!;

/** Four processes share two cores: slow answers are not the faults that this test looks for. */
const options = { path, timeoutMs: 20_000 };

async function openShared(): Promise<StoreUnderTest> {
  const under: StoreUnderTest = {
    store: await sqliteStore(options),
    peer: () => sqliteStore(options),
    reopen: async () => {
      await under.store.close();
      return sqliteStore(options);
    },
  };
  return under;
}

const { totals, cases } = await runConformance(openShared, { concurrency: 4, modelRuns: 4, caseLimitMs: 180_000 });
const failed = cases.filter(({ status }) => status === 'failed').map(({ id, error }) => ({ id, error }));
console.log(JSON.stringify({ totals, failed }));
