/**
 * Runs the conformance kit on one engine and exits with 1 at the first broken promise. Cases of the changed domain come
 * first: `kit-child.ts memory runs`.
 */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_CASES, runConformance, type StoreFactory } from '@tidemark/conformance';
import { sqliteStore } from '@tidemark/sqlite';
import { healthy } from '../../packages/conformance/src/broken/wrap.ts';
import { openUnderTest } from '../../packages/redis/test/kit-parts.ts';
import { offeredUrl } from '../servers/index.ts';

const [engine = 'memory', domain = ''] = process.argv.slice(2);
/** Cases wait in real time, so many run concurrently. */
const CONCURRENCY = 8;
const MODEL_RUNS = 15;
/** The same command sequences for every mutant, so that a verdict does not depend on chance. */
const MODEL_SEED = 20_261_116;

const FACTORIES: Record<string, StoreFactory> = {
  memory: healthy,
  sqlite: async () => {
    const folder = mkdtempSync(join(tmpdir(), 'tidemark-mutant-'));
    const path = join(folder, 'store.db');
    const open = () => sqliteStore({ path, timeoutMs: 20_000 });
    return {
      store: await open(),
      peer: open,
      dispose: () => rmSync(folder, { recursive: true }),
    };
  },
  redis: () => openUnderTest(offeredUrl('redis')!),
};

const cases = [...ALL_CASES.filter((it) => it.domain === domain), ...ALL_CASES.filter((it) => it.domain !== domain)];
await runConformance(FACTORIES[engine]!, {
  cases,
  concurrency: CONCURRENCY,
  modelRuns: MODEL_RUNS,
  seed: MODEL_SEED,
  onCase: ({ status, id, error }) => {
    if (status !== 'failed') return;
    console.log(`${engine}: ${id}: ${error}`);
    process.exit(1);
  },
});
process.exit(0);
