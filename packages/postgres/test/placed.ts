/** Stores whose tenants are placed on several servers. */
import type { StoreUnderTest } from '@tidemark/conformance';
import { startOwnServer } from '../../../scripts/servers/index.ts';
import type { RunningServer } from '../../../scripts/servers/start.ts';
import { type PostgresOptions, postgresStore } from '../src/index.ts';
import { damage } from './combinations.ts';
import { createDatabase, dropDatabase } from './servers.ts';

const NAMES = ['north', 'south', 'east'];

/** The options of a new placed store, with its databases on the given servers. */
export interface PlacedDatabases {
  options: PostgresOptions;
  urls: string[];
  drop(): Promise<void>;
}

/** Creates a database on each server. A server may be given several times. */
export async function createPlaced(servers: readonly string[]): Promise<PlacedDatabases> {
  const urls: string[] = [];
  for (const server of servers) urls.push(await createDatabase(server));
  const [url, ...others] = urls;
  return {
    options: { url: url!, servers: Object.fromEntries(others.map((it, at) => [NAMES[at]!, it])), timeoutMs: 20_000 },
    urls,
    drop: async () => void (await Promise.all(urls.map(dropDatabase))),
  };
}

/** Starts separate servers for the kit. */
export async function startPlaced(count: number) {
  const started: RunningServer[] = [];
  const stop = async () => void (await Promise.all(started.map((server) => server.stop())));
  try {
    for (let at = 0; at < count; at++) started.push(await startOwnServer('postgres'));
  } catch (error) {
    await stop();
    throw error;
  }
  return {
    version: started[0]!.version,
    urls: started.map(({ url }) => url),
    openUnderTest: () => openPlacedUnderTest(started.map(({ url }) => url)),
    stop,
  };
}

async function openPlacedUnderTest(servers: readonly string[]): Promise<StoreUnderTest> {
  const { options, urls, drop } = await createPlaced(servers);
  const under: StoreUnderTest = {
    store: await postgresStore(options),
    peer: () => postgresStore(options),
    reopen: async () => {
      await under.store.close();
      return postgresStore(options);
    },
    damage: async (...field) => {
      for (const url of urls) await damage(url, ...field);
    },
    dispose: drop,
  };
  return under;
}
