/** The cost of a codec when events are appended and read, compared with the same memory store without a codec. */
import { randomBytes } from 'node:crypto';
import {
  composeCodecs,
  compression,
  encryption,
  memoryStore,
  type PayloadCodec,
  type RunEventInput,
} from '@tidemark/core';
import { makeEvents } from './events.ts';
import { atMost, type Figure, median } from './measure.ts';

const EVENTS = 10_000;
const BATCH = 500;
const ROUNDS = 7;

/** Returns microseconds per event, appended and read. */
async function costOf(codec: PayloadCodec | undefined, events: readonly RunEventInput[]): Promise<number> {
  await using store = memoryStore(codec && { codec });
  const start = performance.now();
  for (let at = 0; at < events.length; at += BATCH) await store.runs.appendEvents(events.slice(at, at + BATCH));
  for await (const event of store.runs.readEvents('run'))
    if (!event.payload) throw new Error('An event lost its payload');
  return ((performance.now() - start) / events.length) * 1_000;
}

async function compare(scenario: string, codec: PayloadCodec, large: boolean, bound: number): Promise<Figure> {
  const costs = { ours: [] as number[], raw: [] as number[] };
  for (let round = 0; round < ROUNDS; round++) {
    const events = makeEvents(large ? EVENTS / 10 : EVENTS, () => 'run');
    if (large) for (const event of events) event.payload = { lines: Array(40).fill(event.payload) };
    costs.raw.push(await costOf(undefined, events));
    costs.ours.push(await costOf(codec, events));
  }
  return atMost(bound, scenario, 'µs/event', { ours: median(costs.ours), raw: median(costs.raw) });
}

export async function benchCodec(): Promise<Figure[]> {
  const encrypt = encryption({ keys: { bench: randomBytes(32) }, current: 'bench' });
  const both = composeCodecs(compression(), encrypt);
  return [
    await compare('append and read, 150 bytes encrypted, against plain', encrypt, false, 3),
    await compare('append and read, 6 KB encrypted, against plain', encrypt, true, 3),
    await compare('append and read, 6 KB compressed and encrypted, against plain', both, true, 5),
  ];
}
