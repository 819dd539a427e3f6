/** One of several processes that run the kit on one file at the same time; prints what failed, as JSON. */
import { ALL_CASES, runConformance, type StoreUnderTest } from '@tidemark/conformance';
import { sqliteStore } from '@tidemark/sqlite';

const [path, part] = process.argv.slice(2) as [string, 'shared' | 'alone'];

/**
 * Cases that work on the whole file and not only on their own tenant: three sweep it with a grace of a millisecond,
 * which takes the bytes that others are just storing, and one walks the feed of everybody in pages of a few events.
 */
const OF_THE_WHOLE_FILE = [
  'artifacts/deleting-one-leaves-the-other',
  'artifacts/tenants-are-apart',
  'artifacts/swept-when-expired',
  'runs/feed-resumes-from-any-cursor',
];

/** Four processes on two cores: a slow answer is none of the faults that are looked for here. */
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

const chosen = ALL_CASES.filter(({ id }) => OF_THE_WHOLE_FILE.includes(id) === (part === 'alone'));
const { totals, cases } = await runConformance(openShared, { cases: chosen, concurrency: 4, modelRuns: 4 });
const failed = cases.filter(({ status }) => status === 'failed').map(({ id, error }) => ({ id, error }));
console.log(JSON.stringify({ totals, failed }));
