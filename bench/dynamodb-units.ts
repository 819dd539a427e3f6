/** The write units of appends to a store with few runs, and to the same store with many. */
import type { Store } from '@tidemark/core';
import { openMetered } from '../packages/dynamodb/src/store.ts';
import { appendAll, makeEvents } from './events.ts';
import { atMost, type Figure } from './measure.ts';

const CALLERS = 64;
const FEW_RUNS = 1_000;
/** The number of appends measured at each size, to existing runs and as the first appends of new runs. */
const MEASURED = 50;

interface Units {
  append: number;
  first: number;
}

/** Returns the units of appends with `most` runs as a multiple of the units with a thousand runs. */
export async function measureUnits(url: string, most: number, report: (line: string) => void): Promise<Figure[]> {
  let units = 0;
  const store = await openMetered({ url, prefix: 'bench-units', timeoutMs: 60_000 }, (operation, count) => {
    if (!/^(Get|BatchGet|Query)/.test(operation)) units += count;
  });
  try {
    await addRuns(store, 0, FEW_RUNS);
    const measure = async (): Promise<Units> => {
      const unitsOf = async (runOf: (index: number) => string) => {
        units = 0;
        for (const event of makeEvents(MEASURED, runOf)) await store.runs.appendEvent(event);
        return units / MEASURED;
      };
      return {
        append: await unitsOf((index) => `run-${index * 7}`),
        first: await unitsOf(() => crypto.randomUUID()),
      };
    };
    const few = await measure();
    for (let from = FEW_RUNS; from < most; from += FEW_RUNS) {
      await addRuns(store, from, FEW_RUNS);
      if ((from + FEW_RUNS) % (10 * FEW_RUNS) === 0) report(`units: ${from + FEW_RUNS} of ${most} runs`);
    }
    const many = await measure();
    const figure = (name: string, what: keyof Units) =>
      atMost(1.1, `${name}, ${most} runs against ${FEW_RUNS}`, 'units', { ours: many[what], raw: few[what] });
    return [figure('append to a run', 'append'), figure('first append of a run', 'first')];
  } finally {
    await store.close();
  }
}

async function addRuns(store: Store, from: number, count: number): Promise<void> {
  const events = makeEvents(count, (index) => `run-${from + index}`);
  await appendAll((event) => store.runs.appendEvent(event), events, CALLERS);
}
