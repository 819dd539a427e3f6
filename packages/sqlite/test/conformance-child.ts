/** One of several processes that run the whole kit on one file at the same time; prints what failed, as JSON. */
import { runConformance, type StoreUnderTest } from '@tidemark/conformance';
import { sqliteStore } from '@tidemark/sqlite';

const path = process.argv[2]!;

async function openShared(): Promise<StoreUnderTest> {
  const under: StoreUnderTest = {
    store: await sqliteStore(path),
    peer: () => sqliteStore(path),
    reopen: async () => {
      await under.store.close();
      return sqliteStore(path);
    },
  };
  return under;
}

const { totals, cases } = await runConformance(openShared, { concurrency: 8, modelRuns: 10 });
const failed = cases.filter(({ status }) => status === 'failed').map(({ id, error }) => ({ id, error }));
console.log(JSON.stringify({ totals, failed }));
