/** `top`: shows the activity of a store, redrawn at an interval. */
import type { Store } from '@tidemark/core';
import { sleep } from '@tidemark/core/engine';
import { at, durationText } from '../cells.ts';
import { type CommandContext, defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { duration, integer, withDefault } from '../options.ts';
import type { Output, View } from '../output.ts';
import { EventCounter } from '../top/event-rate.ts';
import { type Amount, countStates, type TopSample } from '../top/sample.ts';
import { type RouteRate, readServerMetrics, routeRates, type ServerCounters } from '../top/server-metrics.ts';
import { atLeast } from './session-summary.ts';

/** The escape sequence that moves the cursor to the first line of a terminal and clears the terminal. */
const CLEAR = '\u001b[H\u001b[2J';
/** The largest fraction of time that readings may take. A slow store is therefore read less often. */
const MAX_SHARE = 0.1;
const SHOWN_ROUTES = 8;

const NUMBER = new Intl.NumberFormat('en-GB', { maximumFractionDigits: 1 });

const SUMMARY: View<TopSample> = {
  columns: [
    { title: 'TIME', of: ({ time }) => at(time) },
    {
      title: 'EVENTS/S',
      of: ({ eventsPerSecond, eventsExact }) => `${NUMBER.format(eventsPerSecond)}${eventsExact ? '' : '+'}`,
    },
    { title: 'LAG', of: ({ lagMs }) => (lagMs === null ? 'only with a server' : durationText(lagMs)) },
    { title: 'RUNS', of: ({ runs }) => amountsText(runs) },
    { title: 'JOBS', of: ({ jobs }) => amountsText(jobs) },
  ],
  id: ({ time }) => time,
};

const ROUTES: View<RouteRate> = {
  columns: [
    { title: 'SLOWEST REQUESTS', of: ({ route }) => route },
    { title: 'CALLS/S', of: ({ callsPerSecond }) => NUMBER.format(callsPerSecond) },
    { title: 'MEAN', of: ({ meanMs }) => `${NUMBER.format(meanMs)} ms` },
    { title: 'P99', of: ({ p99Ms }) => (p99Ms === null ? '' : `≤ ${NUMBER.format(p99Ms)} ms`) },
    { title: 'FAILED', of: ({ failures }) => failures },
  ],
  id: ({ route }) => route,
};

const amountsText = (amounts: Readonly<Record<string, Amount>>) =>
  Object.entries(amounts)
    .map(([name, amount]) => `${atLeast(amount)} ${name.toLowerCase()}`)
    .join(', ');

const top = defineCommand({
  name: 'top',
  summary: 'Show live rates, lag, jobs and slow requests until interrupted',
  details:
    'Rates cover the time since the last reading. Lag and requests come from the metrics of a server, so they need its URL in --store and a token with the scope metrics:read. A slow store is read less often than --every.',
  effect: 'ro',
  options: {
    every: withDefault(duration('duration', 'time between readings'), 2_000, '2s'),
    count: integer('n', 'stop after this many readings', 1),
  },
  examples: [{ line: 'top --every 50ms --count 1', shows: '"eventsPerSecond":0' }],
  async run(context) {
    const { out, io, options } = context;
    const reader = await Reader.start(context, await context.store());
    for (let shown = 0; options.count === undefined || shown < options.count; shown++) {
      await sleep(Math.max(options.every, reader.tookMs / MAX_SHARE), io.signal);
      if (io.signal.aborted) return EXIT.interrupted;
      await show(out, await reader.read(), io.stdout.isTerminal);
    }
    return EXIT.ok;
  },
});

/** Reads samples and compares each with the previous one. */
class Reader {
  /** How long the last reading took. */
  tookMs = 0;
  readonly #store: Store;
  readonly #events: EventCounter;
  readonly #metrics: () => Promise<ServerCounters | null>;
  #before: ServerCounters | null = null;
  #readAt = performance.now();

  private constructor(store: Store, metrics: () => Promise<ServerCounters | null>) {
    this.#store = store;
    this.#metrics = metrics;
    this.#events = new EventCounter(store.runs);
  }

  static async start({ settings, io }: CommandContext<unknown, unknown>, store: Store): Promise<Reader> {
    const { store: url, token } = settings;
    const isServer = /^https?:/.test(url);
    const reader = new Reader(store, async () =>
      isServer ? readServerMetrics(url, { token, signal: io.signal }) : null,
    );
    reader.#before = await reader.#metrics();
    return reader;
  }

  async read(): Promise<TopSample> {
    const began = performance.now();
    const seconds = (began - this.#readAt) / 1_000;
    const [events, states, after] = await Promise.all([
      this.#events.count(),
      countStates(this.#store),
      this.#metrics(),
    ]);
    const requests = this.#before && after ? routeRates(this.#before, after, seconds) : null;
    [this.#before, this.#readAt, this.tookMs] = [after, began, performance.now() - began];
    return {
      time: new Date().toISOString(),
      eventsPerSecond: events.count / seconds,
      eventsExact: events.exact,
      lagMs: after?.lagSeconds === undefined ? null : Math.round(after.lagSeconds * 1_000),
      ...states,
      requests,
    };
  }
}

async function show(out: Output, sample: TopSample, isTerminal: boolean): Promise<void> {
  if (out.form === 'table' && isTerminal) await out.raw(CLEAR);
  await out.show(sample, SUMMARY);
  if (out.form !== 'table' || sample.requests === null) return;
  await out.raw('\n');
  await out.list(sample.requests.slice(0, SHOWN_ROUTES), ROUTES, 'No requests since the last reading.');
}

export const topCommands = [top];
