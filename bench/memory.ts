/**
 * Memory: the cost of folding and appending as a run grows. There is no bare driver to compare with, so a large run is
 * compared with a small one.
 */
import { memoryStore, type RunEventRecord, reduceRun } from '@tidemark/core';
import { makeEvents } from './events.ts';
import { atMost, type Figure, median } from './measure.ts';

const TOTAL = 1_000_000;
const SLICE = 20_000;
const BATCH = 500;

async function appendCost(report: (line: string) => void): Promise<Figure> {
  const store = memoryStore();
  const costs: number[] = [];
  for (let done = 0; done < TOTAL; done += SLICE) {
    const events = makeEvents(SLICE, () => 'big');
    const start = performance.now();
    for (let at = 0; at < SLICE; at += BATCH) await store.runs.appendEvents(events.slice(at, at + BATCH));
    costs.push(((performance.now() - start) / SLICE) * 1_000);
    if ((done + SLICE) % 200_000 === 0) report(`${done + SLICE} events appended to one run`);
  }
  await store.close();
  // The first slice warms up the compiler.
  return atMost(1.5, 'append to a run of 10⁶ events against its start', 'µs/event', {
    ours: median(costs.slice(-10)),
    raw: median(costs.slice(1, 11)),
  });
}

async function foldCost(): Promise<Figure[]> {
  const store = memoryStore();
  const events = makeEvents(100_000, () => 'fold').map((event, index) => ({
    ...event,
    eventType: index === 0 ? 'RunStarted' : ['StepStarted', 'StepCompleted'][(index - 1) % 2]!,
    stepId: index === 0 ? undefined : `step-${(index - 1) >>> 1}`,
  }));
  for (let at = 0; at < events.length; at += 1_000) await store.runs.appendEvents(events.slice(at, at + 1_000));
  const records: RunEventRecord[] = [];
  for await (const event of store.runs.readEvents('fold')) records.push(event);
  let start = performance.now();
  reduceRun(records);
  const fold = performance.now() - start;
  start = performance.now();
  await store.runs.projectSnapshot('fold', { timeoutMs: 60_000 });
  const project = performance.now() - start;
  await store.close();
  return [
    atMost(1, 'fold 100 000 events into a snapshot, against 0.5 s', 'ms', { ours: fold, raw: 500 }),
    atMost(1, 'the same through the store: read, verified, folded and stored', 'ms', { ours: project, raw: 500 }),
  ];
}

export async function benchMemory(report: (line: string) => void): Promise<Figure[]> {
  return [await appendCost(report), ...(await foldCost())];
}
