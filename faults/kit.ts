/**
 * Runs the conformance kit repeatedly on one healthy store of each engine, with many concurrent cases: a case that
 * fails is a false alarm of the kit or a fault of the engine. `--engines redis,nats` narrows the engines, `--rounds N`
 * sets the number of rounds, `--concurrency N` the number of concurrent cases.
 */
import { parseArgs } from 'node:util';
import { runConformance } from '@tidemark/conformance';
import { type Database, type EngineName, newDatabase } from './races/engines.ts';

const { values } = parseArgs({
  options: {
    engines: { type: 'string', default: 'postgres,redis,nats' },
    rounds: { type: 'string', default: '10' },
    concurrency: { type: 'string', default: '8' },
  },
});

/** Runs the kit once on a database that keeps the data of earlier rounds. Returns the number of failed cases. */
async function play(engine: string, round: number, database: Database): Promise<number> {
  const began = Date.now();
  const { cases, totals } = await runConformance(
    async () => {
      const store = await database.open();
      const reopen = async () => {
        await store.close();
        return database.open();
      };
      return { store, peer: () => database.open(), reopen };
    },
    { concurrency: Number(values.concurrency) },
  );
  for (const { id, status, error } of cases) if (status === 'failed') console.error(`${engine}: ${id}: ${error}`);
  const { passed, failed, skipped } = totals;
  const seconds = Math.round((Date.now() - began) / 1000);
  console.log(`${engine}: round ${round}: ${passed} passed, ${failed} failed, ${skipped} skipped, ${seconds} s`);
  return failed;
}

for (const engine of values.engines.split(',') as EngineName[]) {
  const database = await newDatabase(engine);
  try {
    for (let round = 1; round <= Number(values.rounds); round++)
      if ((await play(engine, round, database)) > 0) process.exitCode = 1;
  } finally {
    await database.remove();
  }
}
