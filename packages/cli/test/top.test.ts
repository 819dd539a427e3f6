/** `tidemark top`: rates of a store and of a server, and how its readings are compared. */
import { memoryStore, type Store } from '@tidemark/core';
import { createServer, type TidemarkServer } from '@tidemark/server';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { EventCounter } from '../src/top/event-rate.ts';
import { parseMetrics, routeRates } from '../src/top/server-metrics.ts';
import { tidemark } from './command-line.ts';

describe('tidemark top', () => {
  let store: Store;
  let server: TidemarkServer;
  let url: string;
  beforeEach(async () => {
    store = memoryStore();
    server = createServer({ store, loops: true, logger: { info() {}, error() {} } });
    url = await server.listen();
  });
  afterEach(() => server.close());

  it('shows events, lag, runs, jobs and the slowest requests of a server', async () => {
    await store.runs.handle('old').append('RunStarted');
    await store.jobs.enqueue({ taskType: 'mail', taskId: '1' });
    const interrupted = new AbortController();
    const printed: string[] = [];
    const shown = tidemark(['top', '--every', '100ms', '--store', url], {
      signal: interrupted.signal,
      onOutput: (text) => printed.push(text),
    });
    const samples = () => printed.map((line) => JSON.parse(line));
    await expect.poll(() => printed.length).toBeGreaterThan(0);
    for (let more = 0; more < 5; more++) await store.runs.handle('old').append('Note', { more });
    await expect.poll(() => samples().some(({ eventsPerSecond }) => eventsPerSecond > 0)).toBe(true);
    interrupted.abort();
    expect((await shown).code).toBe(130);
    const last = samples().at(-1);
    expect(last).toMatchObject({ runs: { RUNNING: { count: 1, exact: true } }, jobs: { pending: { count: 1 } } });
    expect(last.lagMs).toBeGreaterThanOrEqual(0);
    expect(last.requests.map(({ route }: { route: string }) => route)).toContain('GET /v1/run-count');
  });

  it('draws tables on a terminal, and clears it before each', async () => {
    const { stdout } = await tidemark(['top', '--every', '50ms', '--count', '2', '--store', url], {
      terminal: true,
      columns: 100,
      env: { NO_COLOR: '1' },
    });
    const [, ...screens] = stdout.split('\u001b[H\u001b[2J');
    expect(screens).toHaveLength(2);
    for (const screen of screens) {
      expect(screen).toMatch(/EVENTS\/S +0\n/);
      expect(screen).toMatch(/SLOWEST REQUESTS +CALLS\/S/);
    }
  });

  it('names the scope that a token needs for the metrics', async () => {
    const guarded = createServer({
      store,
      logger: { info() {}, error() {} },
      auth: { loopbackOnly: true, authenticate: () => ({ id: 'reader', tenantId: null, scopes: ['read'] }) },
    });
    const env = { TIDEMARK_STORE: await guarded.listen(), TIDEMARK_TOKEN: 'reader.secret' };
    try {
      const { code, stderr } = await tidemark('top --count 1', { env });
      expect([code, stderr]).toEqual([4, expect.stringContaining('metrics:read')]);
    } finally {
      await guarded.close();
    }
  });
});

describe('the number of new events', () => {
  it('counts each event once: of new runs, of known runs, and of runs that existed before', async () => {
    const { runs } = memoryStore();
    const append = (run: string) => runs.handle(run).append('Note', {});
    for (let number = 0; number < 3; number++) await append('old');
    await new Promise((done) => setTimeout(done, 5));
    const counter = new EventCounter(runs);
    await new Promise((done) => setTimeout(done, 5));
    expect(await counter.count()).toEqual({ count: 0, exact: true });
    await append('old');
    await append('new');
    await append('new');
    expect((await counter.count()).count).toBe(3);
    expect((await counter.count()).count).toBe(0);
    await append('new');
    expect((await counter.count()).count).toBe(1);
  });
});

describe('metrics', () => {
  const page = (calls: number, failed: number, fast: number, seconds: number) => `
tidemark_appended_events_total 7
tidemark_projector_lag_seconds 1.5
tidemark_requests_total{method="GET",route="/v1/runs",status="200"} ${calls - failed}
tidemark_requests_total{method="GET",route="/v1/runs",status="503"} ${failed}
tidemark_request_seconds_bucket{method="GET",route="/v1/runs",le="0.01"} ${fast}
tidemark_request_seconds_bucket{method="GET",route="/v1/runs",le="10"} ${calls - 1}
tidemark_request_seconds_bucket{method="GET",route="/v1/runs",le="+Inf"} ${calls}
tidemark_request_seconds_sum{method="GET",route="/v1/runs"} ${seconds}
tidemark_request_seconds_count{method="GET",route="/v1/runs"} ${calls}
tidemark_requests_total{method="GET",route="/v1/idle",status="200"} 3`;

  it('give the rate, mean and 99th percentile of the calls between two readings', () => {
    const [before, after] = [parseMetrics(page(100, 0, 1, 50)), parseMetrics(page(300, 2, 201, 52))];
    expect(after).toMatchObject({ appendedEvents: 7, lagSeconds: 1.5 });
    expect(routeRates(before, after, 10)).toEqual([
      { route: 'GET /v1/runs', callsPerSecond: 20, meanMs: 10, p99Ms: 10, failures: 2 },
    ]);
    const slow = parseMetrics(page(400, 2, 202, 500));
    expect(routeRates(after, slow, 10)).toMatchObject([{ p99Ms: 10_000 }]);
  });
});
