/** Counters and timings in the Prometheus text format. */
import type { IncomingMessage, ServerResponse } from 'node:http';

/** Upper bounds of the latency histogram, in seconds. */
const BOUNDS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];

interface RouteTimes {
  /** Requests by status. */
  statuses: Map<number, number>;
  /** The number of requests up to each bound. The last bucket counts the remaining requests. */
  buckets: number[];
  seconds: number;
}

/** Counters with labels. */
const COUNTERS = {
  limited: ['tidemark_limited_total', 'Requests rejected by a limit, by the name of the limit.'],
  security: ['tidemark_security_events_total', 'Security events by kind, including those left out of the log.'],
  alerts: ['tidemark_alerts_total', 'Alerts that this process raised, of the store and of its loops, by code.'],
} as const;

type Counter = keyof typeof COUNTERS;

/** A value that is read when the page is rendered. */
export interface Gauge {
  help: string;
  value(): number;
}

export class Metrics {
  readonly #routes = new Map<string, RouteTimes>();
  readonly #counts = new Map<Counter, Map<string, number>>();
  readonly #gauges = new Map<string, Gauge>();
  /** The number of events that appends have stored. */
  appendedEvents = 0;
  openStreams = 0;
  readonly #more: (() => readonly string[])[] = [];

  /** Adds lines from another source to the page. */
  add(render: () => readonly string[]): void {
    this.#more.push(render);
  }

  /** Records one response. `name` is the method and the path pattern, never an id. */
  observe(name: string, status: number, seconds: number): void {
    let times = this.#routes.get(name);
    if (!times) {
      times = { statuses: new Map(), buckets: new Array(BOUNDS.length + 1).fill(0), seconds: 0 };
      this.#routes.set(name, times);
    }
    times.statuses.set(status, (times.statuses.get(status) ?? 0) + 1);
    const at = BOUNDS.findIndex((bound) => seconds <= bound);
    times.buckets[at < 0 ? BOUNDS.length : at]!++;
    times.seconds += seconds;
  }

  /** Increments a counter. Labels come from the code, never from a caller. */
  count(counter: Counter, labels: Readonly<Record<string, string>>): void {
    const counts = this.#counts.get(counter) ?? new Map<string, number>();
    this.#counts.set(counter, counts);
    const text = Object.entries(labels)
      .map(([name, value]) => `${name}="${value}"`)
      .join(',');
    counts.set(text, (counts.get(text) ?? 0) + 1);
  }

  /** Adds a value that is read whenever the page is rendered. */
  addGauge(name: string, gauge: Gauge): void {
    this.#gauges.set(name, gauge);
  }

  /** Returns the page that Prometheus reads. */
  render(): string {
    const lines = [
      '# HELP tidemark_appended_events_total Run events stored through this server.',
      '# TYPE tidemark_appended_events_total counter',
      `tidemark_appended_events_total ${this.appendedEvents}`,
      '# HELP tidemark_open_streams Live streams that are open now.',
      '# TYPE tidemark_open_streams gauge',
      `tidemark_open_streams ${this.openStreams}`,
      ...this.#more.flatMap((render) => render()),
      '# HELP tidemark_requests_total Requests answered, by route and status.',
      '# TYPE tidemark_requests_total counter',
    ];
    for (const [name, { statuses }] of this.#routes) {
      for (const [status, count] of statuses)
        lines.push(`tidemark_requests_total{${labels(name)},status="${status}"} ${count}`);
    }
    lines.push(
      '# HELP tidemark_request_seconds How long requests took; streams count until they are open.',
      '# TYPE tidemark_request_seconds histogram',
    );
    for (const [name, times] of this.#routes) lines.push(...renderHistogram(name, times));
    for (const [counter, counts] of this.#counts) {
      const [name, help] = COUNTERS[counter];
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} counter`);
      for (const [text, count] of counts) lines.push(`${name}{${text}} ${count}`);
    }
    for (const [name, { help, value }] of this.#gauges)
      lines.push(`# HELP ${name} ${help}`, `# TYPE ${name} gauge`, `${name} ${value()}`);
    return `${lines.join('\n')}\n`;
  }
}

function renderHistogram(name: string, { buckets, seconds }: RouteTimes): string[] {
  let total = 0;
  const lines = buckets.map((count, at) => {
    total += count;
    return `tidemark_request_seconds_bucket{${labels(name)},le="${BOUNDS[at] ?? '+Inf'}"} ${total}`;
  });
  return [
    ...lines,
    `tidemark_request_seconds_sum{${labels(name)}} ${seconds}`,
    `tidemark_request_seconds_count{${labels(name)}} ${total}`,
  ];
}

function labels(name: string): string {
  const [method, path] = name.split(' ', 2);
  return `method="${method}",route="${path ?? 'none'}"`;
}

export function sendMetrics(response: ServerResponse, metrics: Metrics): void {
  const headers = { 'cache-control': 'no-store', 'x-content-type-options': 'nosniff' };
  response.writeHead(200, { 'content-type': 'text/plain; version=0.0.4', ...headers }).end(metrics.render());
}

/** Handles requests on the metrics address, which serves only the metrics and needs no key. */
export function metricsHandler(metrics: Metrics): (request: IncomingMessage, response: ServerResponse) => void {
  return (request, response) => {
    if (request.method === 'GET' && request.url?.split('?', 1)[0] === '/metrics') sendMetrics(response, metrics);
    else response.writeHead(404).end();
  };
}
