/**
 * NATS: our store against plain JetStream publishes of the same bodies and headers, each acknowledged; and its growth
 * with the number of runs.
 */
import { jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection, headers as newHeaders } from '@nats-io/nats-core';
import { connect } from '@nats-io/transport-node';
import type { RunEventInput, Store } from '@tidemark/core';
import { natsStore } from '@tidemark/nats';
import { startOwnServer } from '../scripts/servers/index.ts';
import { appendAll, makeEvents } from './events.ts';
import { atLeast, atMost, compareRates, type Figure, median } from './measure.ts';

const CALLERS = 64;
const RUNS = 10_000;
const ROUND = 12_800;
const ROUNDS = 5;
const FEW_RUNS = 1_000;

/** The bare driver on its own stream: one subject per run, the same headers and as many bytes as our commits. */
class RawDriver {
  readonly #publish: (event: RunEventInput) => Promise<unknown>;

  constructor(connection: NatsConnection) {
    const client = jetstream(connection);
    const last = new Map<string, number>();
    const envelope = 'e'.repeat(420);
    this.#publish = async (event) => {
      const headers = newHeaders();
      headers.set('Tidemark-Commit', `1 1 ${Date.now()} ${Date.now()}`);
      headers.set('Tidemark-State', STATE);
      headers.set('Tidemark-Keys', 'AAAAAAAAAAAAAAAAAAAAAA==');
      headers.set('Tidemark-Write', 'AAAAAAAAAAAAAAAA');
      const subject = `raw.${event.runId}`;
      const lastSubjectSequence = last.get(subject) ?? 0;
      const body = `${envelope}\n${JSON.stringify(event.payload)}`;
      const { seq } = await client.publish(subject, body, { headers, expect: { lastSubjectSequence } });
      last.set(subject, seq);
    };
  }

  publishAll(events: readonly RunEventInput[]): Promise<number> {
    return appendAll(this.#publish, events, CALLERS);
  }
}

/** As long as the state of a run in our headers. */
const STATE = 's'.repeat(260);

/** Returns runs in an order in which no two callers use the same one. */
function spread(index: number): string {
  return `run-${(index * 7_919) % RUNS}`;
}

async function fill(store: Store, runs: number, report: (line: string) => void): Promise<void> {
  for (let from = 0; from < runs; from += 1_000) {
    const events = makeEvents(Math.min(1_000, runs - from), (index) => `many-${from + index}`);
    await appendAll((event) => store.runs.appendEvent(event, { timeoutMs: 60_000 }), events, CALLERS);
    if ((from + 1_000) % 20_000 === 0) report(`${from + 1_000} runs stored`);
  }
}

/**
 * Returns the milliseconds to open an unknown run, to append to it and to read its tail, each with a newly opened
 * store.
 */
async function costOf(
  url: string,
  prefix: string,
  runs: number,
): Promise<{ open: number; append: number; tail: number }> {
  const times = { open: [] as number[], append: [] as number[], tail: [] as number[] };
  const store = await natsStore({ url, prefix });
  const view = store.forTenant('bench');
  for (let at = 0; at < 200; at++) {
    const runId = `many-${(at * 7_919) % runs}`;
    const [event] = makeEvents(1, () => runId);
    const timed = async (what: keyof typeof times, work: () => Promise<unknown>) => {
      const began = performance.now();
      await work();
      times[what].push(performance.now() - began);
    };
    await timed('open', () => view.runs.headSeq(runId));
    await timed('append', () => view.runs.appendEvent(event!));
    await timed('tail', () => view.runs.fetchEvents(runId, { afterSeq: 1 }));
  }
  await store.close();
  return { open: median(times.open), append: median(times.append), tail: median(times.tail) };
}

export async function benchNats(report: (line: string) => void, quick: boolean): Promise<Figure[]> {
  const server = await startOwnServer('nats');
  const connection = await connect({ servers: server.url, noAsyncTraces: true });
  try {
    const manager = await jetstreamManager(connection);
    await manager.streams.add({ name: 'raw', subjects: ['raw.>'] });
    const [raw, ours] = [new RawDriver(connection), await natsStore({ url: server.url, prefix: 'bench' })];
    const append = (event: RunEventInput) => ours.runs.appendEvent(event);
    const rates = (runOf: (index: number) => string, rounds: number) =>
      compareRates(
        () => {
          const events = makeEvents(ROUND, runOf);
          return () => appendAll(append, events, CALLERS);
        },
        () => {
          const events = makeEvents(ROUND, spread);
          return () => raw.publishAll(events);
        },
        rounds,
      );
    report(`NATS ${server.version}: warming up`);
    await rates(spread, 1);
    report('appends over 10 000 runs');
    const spreadRates = await rates(spread, quick ? 3 : ROUNDS);
    report('appends to one hot run');
    const hot = await rates(() => 'hot', quick ? 2 : 3);
    await ours.close();
    const many = quick ? 20_000 : 100_000;
    const costs = [];
    for (const [prefix, runs] of [['few', FEW_RUNS] as const, ['many', many] as const]) {
      const store = await natsStore({ url: server.url, prefix });
      await fill(store, runs, report);
      await store.close();
      costs.push(await costOf(server.url, prefix, runs));
    }
    const [few, most] = costs;
    const growth = (what: 'open' | 'append' | 'tail', scenario: string) =>
      atMost(2, `${scenario}, ${many} runs against ${FEW_RUNS}`, 'ms', { ours: most![what], raw: few![what] });
    return [
      atLeast(0.6, 'append, 64 callers, 10 000 runs', 'events/s', spreadRates),
      atLeast(0.6, 'append, 64 callers, one hot run, against many subjects', 'events/s', hot),
      growth('open', 'opening a run'),
      growth('append', 'appending to a run that is new to the writer'),
      growth('tail', 'fetching its tail'),
    ];
  } finally {
    await connection.close();
    await server.stop();
  }
}
