/** Reads the metrics of a server for `top`: lag, appended events and the duration of requests by route. */
import { TidemarkError } from '@tidemark/core';

/** The counters of one route since the server started. */
export interface RouteCounters {
  calls: number;
  failures: number;
  seconds: number;
  /** Cumulative number of calls by upper bound of their duration in seconds. */
  buckets: ReadonlyMap<number, number>;
}

export interface ServerCounters {
  appendedEvents: number;
  /** Absent if the server runs no projector. */
  lagSeconds?: number;
  routes: ReadonlyMap<string, RouteCounters>;
}

/** The requests per second to a route between two readings, and the duration of the requests. */
export interface RouteRate {
  route: string;
  callsPerSecond: number;
  meanMs: number;
  /** The 99th percentile, rounded up to a bound of the histogram; `null` if it is above the last bound. */
  p99Ms: number | null;
  failures: number;
}

/** Reads `/metrics` of a server. Throws `UNAUTHENTICATED` or `FORBIDDEN` if the token lacks `metrics:read`. */
export async function readServerMetrics(
  url: string,
  { token, signal }: { token: string | undefined; signal: AbortSignal },
): Promise<ServerCounters> {
  const headers = token === undefined ? {} : { authorization: `Bearer ${token}` };
  const address = new URL('metrics', url.endsWith('/') ? url : `${url}/`).href;
  let response: Response;
  try {
    response = await fetch(address, { headers, signal });
  } catch (cause) {
    throw new TidemarkError('UNAVAILABLE', `The metrics at ${address} cannot be read`, { cause });
  }
  if (response.ok) return parseMetrics(await response.text());
  await response.body?.cancel();
  if (response.status === 401 || response.status === 403)
    throw new TidemarkError(
      response.status === 401 ? 'UNAUTHENTICATED' : 'FORBIDDEN',
      'The metrics need the scope metrics:read',
      {
        rule: 'a token with the scope metrics:read',
      },
    );
  throw new TidemarkError('UNAVAILABLE', `The metrics at ${address} cannot be read: HTTP ${response.status}`);
}

const LINE = /^(\w+)(?:\{(.*)\})? (\S+)$/;
const LABEL = /\b(\w+)="([^"]*)"/g;

export function parseMetrics(text: string): ServerCounters {
  const routes = new Map<string, RouteCounters & { buckets: Map<number, number> }>();
  let [appendedEvents, lagSeconds]: [number, number | undefined] = [0, undefined];
  for (const line of text.split('\n')) {
    const [, name, given = '', number] = LINE.exec(line) ?? [];
    const value = Number(number);
    if (name === 'tidemark_appended_events_total') appendedEvents = value;
    if (name === 'tidemark_projector_lag_seconds') lagSeconds = value;
    if (!name?.startsWith('tidemark_request')) continue;
    const { method, route, status, le } = Object.fromEntries(
      [...given.matchAll(LABEL)].map(([, key, it]) => [key, it]),
    );
    const counters = routes.get(`${method} ${route}`) ?? { calls: 0, failures: 0, seconds: 0, buckets: new Map() };
    routes.set(`${method} ${route}`, counters);
    if (name === 'tidemark_requests_total') {
      counters.calls += value;
      if (Number(status) >= 500) counters.failures += value;
    } else if (name === 'tidemark_request_seconds_sum') counters.seconds = value;
    else if (le !== undefined) counters.buckets.set(le === '+Inf' ? Number.POSITIVE_INFINITY : Number(le), value);
  }
  return { appendedEvents, ...(lagSeconds !== undefined && { lagSeconds }), routes };
}

/** Returns the routes that were called between two readings, the slowest on average first. */
export function routeRates(before: ServerCounters, after: ServerCounters, seconds: number): RouteRate[] {
  const rates: RouteRate[] = [];
  for (const [route, now] of after.routes) {
    const then = before.routes.get(route);
    const calls = now.calls - (then?.calls ?? 0);
    if (calls <= 0) continue;
    const bound = [...now.buckets].find(([le, count]) => count - (then?.buckets.get(le) ?? 0) >= 0.99 * calls)?.[0];
    rates.push({
      route,
      callsPerSecond: calls / seconds,
      meanMs: ((now.seconds - (then?.seconds ?? 0)) / calls) * 1_000,
      p99Ms: bound === undefined || bound === Number.POSITIVE_INFINITY ? null : bound * 1_000,
      failures: now.failures - (then?.failures ?? 0),
    });
  }
  return rates.sort((a, b) => b.meanMs - a.meanMs);
}
