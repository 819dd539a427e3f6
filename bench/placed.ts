/**
 * PostgreSQL: the CPU of our process per event when tenants are on one, two and four servers. Each caller works for the
 * tenants of one server, and every server has the same number of callers. With a fixed total, each server would have
 * fewer callers and thus smaller groups, which cost more per event for reasons that have nothing to do with placement.
 */
import { cpuUsage } from 'node:process';
import type { Store } from '@tidemark/core';
import { type PostgresOptions, postgresStore } from '@tidemark/postgres';
import { startOwnServer } from '../scripts/servers/index.ts';
import { appendAll, makeEvents } from './events.ts';
import { atMost, type Figure, median } from './measure.ts';

const COUNTS = [1, 2, 4];
const TENANTS = 64;
const CALLERS_PER_SERVER = 64;
const ROUND = 12_800;
const ROUNDS = 7;
/** The highest CPU per event with several servers, as a multiple of the CPU with one server. */
const LIMIT = 1.1;
const PAGE = 1_000;

interface Measured {
  append: number[];
  feed: number[];
}

async function cpuPer(units: () => Promise<number>): Promise<number> {
  const before = cpuUsage();
  const count = await units();
  const { user, system } = cpuUsage(before);
  return (user + system) / count;
}

async function readFeed(store: Store, from: string | undefined): Promise<[count: number, next: string | undefined]> {
  let count = 0;
  for (let cursor = from; ; ) {
    const page = await store.runs.feedPage({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    count += page.items.length;
    if (page.next === cursor || page.items.length === 0) return [count, cursor];
    cursor = page.next;
  }
}

export async function benchPlaced(report: (line: string) => void, quick: boolean): Promise<Figure[]> {
  const servers = await Promise.all(Array.from({ length: 4 }, () => startOwnServer('postgres')));
  const stores: Store[] = [];
  try {
    for (const count of COUNTS)
      stores.push(
        await openOn(
          servers.slice(0, count).map(({ url }) => url),
          count,
        ),
      );
    const measured: Measured[] = COUNTS.map(() => ({ append: [], feed: [] }));
    const cursors: (string | undefined)[] = COUNTS.map(() => undefined);
    for (let round = 0; round <= (quick ? 2 : ROUNDS); round++) {
      for (const [at, store] of stores.entries()) {
        const count = COUNTS[at]!;
        const events = makeEvents(quick ? ROUND / 4 : ROUND, (index) => `run-${round}-${index % 1_000}`).map(
          (event, index) => ({ ...event, tenantId: `tenant-${index % TENANTS}` }),
        );
        const perServer = Array.from({ length: count }, (_, server) =>
          events.filter(({ tenantId }) => serverOf(tenantId, count) === server),
        );
        const append = await cpuPer(async () => {
          const appends = perServer.map((some) =>
            appendAll((event) => store.runs.appendEvent(event), some, CALLERS_PER_SERVER),
          );
          return (await Promise.all(appends)).reduce((sum, it) => sum + it, 0);
        });
        const feed = await cpuPer(async () => {
          const [read, next] = await readFeed(store, cursors[at]);
          cursors[at] = next;
          return read;
        });
        // The first round includes compilation.
        if (round > 0) {
          measured[at]!.append.push(append);
          measured[at]!.feed.push(feed);
        }
      }
    }
    return (['append', 'feed'] as const).flatMap((what) => {
      const [one, ...others] = measured.map((it) => median(it[what]));
      return others.map((ours, at) => {
        const figure = atMost(LIMIT, `${what}, tenants on ${COUNTS[at + 1]} servers`, 'µs CPU/event', {
          ours,
          raw: one!,
        });
        report(`${figure.scenario}: ${ours.toFixed(1)} µs, on one ${one!.toFixed(1)} µs`);
        return figure;
      });
    });
  } finally {
    await Promise.allSettled(stores.map((store) => store.close()));
    await Promise.all(servers.map((server) => server.stop()));
  }
}

/** Returns the number of the server on which a tenant is placed, from 0. */
function serverOf(tenantId: string, count: number): number {
  return Number(tenantId.split('-')[1]) % count;
}

function nameOf(server: number): string {
  return server === 0 ? 'main' : `server-${server + 1}`;
}

/** Opens a store with its own schema. A single server is opened without the option `servers`. */
function openOn([url, ...others]: string[], count: number): Promise<Store> {
  const options: PostgresOptions = { url: url!, schema: `placed_${count}` };
  if (others.length === 0) return postgresStore(options);
  return postgresStore({
    ...options,
    servers: Object.fromEntries(others.map((it, at) => [nameOf(at + 1), it])),
    placement: (tenantId) => nameOf(serverOf(tenantId, count)),
  });
}
