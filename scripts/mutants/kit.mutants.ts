/** The conformance kit on the engine that `TIDEMARK_MUTANT_KIT` names, with the same command sequences in each run. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_CASES, registerConformance, type StoreFactory, sharesStore } from '@tidemark/conformance';
import { sqliteStore } from '@tidemark/sqlite';
import { afterAll, describe, it } from 'vitest';
import { healthy } from '../../packages/conformance/src/broken/wrap.ts';
import { openPlain } from '../../packages/postgres/test/combinations.ts';
import { openUnderTest } from '../../packages/redis/test/kit-parts.ts';
import { offeredUrl } from '../servers/index.ts';

const MODEL = { modelRuns: 15, seed: 20_261_116 };

/** Opens a store whose clock the kit moves forward, so that no case waits in real time. */
const sqlite: StoreFactory = async () => {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-mutant-'));
  const path = join(folder, 'store.db');
  let moved = 0;
  const options = {
    path,
    timeoutMs: 20_000,
    clock: () => Date.now() + moved,
    monotonic: () => performance.now() + moved,
  };
  const open = () => sqliteStore(options);
  let current = await open();
  return {
    store: current,
    peer: open,
    reopen: async () => {
      await current.close();
      current = await open();
      return current;
    },
    advance: (ms) => {
      moved += ms;
    },
    dispose: () => rmSync(folder, { recursive: true }),
  };
};

const FACTORIES: Record<string, StoreFactory> = {
  memory: healthy,
  sqlite,
  redis: () => openUnderTest(offeredUrl('redis')!),
  postgres: () => openPlain(offeredUrl('postgres')!),
};

const engine = process.env.TIDEMARK_MUTANT_KIT ?? 'memory';
const factory = FACTORIES[engine]!;
/** Only one mutant can be switched on at a time, and a case that moves the clock moves it for all others. */
const isShared = process.env.TIDEMARK_MUTANT_NOTES !== undefined || engine === 'memory' || engine === 'sqlite';
const together = isShared ? it : it.concurrent;
const [shared, alone] = [ALL_CASES.filter(sharesStore), ALL_CASES.filter((it) => !sharesStore(it))];
registerConformance({ describe, it: together, afterAll }, engine, factory, { ...MODEL, cases: shared });
registerConformance({ describe, it, afterAll }, `${engine}, alone`, factory, { ...MODEL, cases: alone });
