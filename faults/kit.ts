/**
 * Runs the conformance kit again and again on one healthy store for each engine, many cases at once: a case that fails
 * is a false alarm of the kit or a fault of the engine. `--engines redis,nats` narrows the engines, `--rounds N` sets how
 * often, `--concurrency N` how many cases run at once.
 */
import { parseArgs } from 'node:util';
import { runConformance } from '@tidemark/conformance';
import { type EngineName, newPlace, type Place } from './races/engines.ts';

const { values } = parseArgs({
  options: {
    engines: { type: 'string', default: 'postgres,redis,nats' },
    rounds: { type: 'string', default: '10' },
    concurrency: { type: 'string', default: '8' },
  },
});

/** Runs the kit once on a place that keeps what earlier rounds left; returns how many cases failed. */
async function play(engine: string, round: number, place: Place): Promise<number> {
  const began = Date.now();
  const { cases, totals } = await runConformance(
    async () => {
      const store = await place.open();
      const reopen = async () => {
        await store.close();
        return place.open();
      };
      return { store, peer: () => place.open(), reopen };
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
  const place = await newPlace(engine);
  try {
    for (let round = 1; round <= Number(values.rounds); round++)
      if ((await play(engine, round, place)) > 0) process.exitCode = 1;
  } finally {
    await place.remove();
  }
}
