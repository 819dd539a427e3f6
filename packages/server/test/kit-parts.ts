/** Opens clients under test, each on its own server over a store of any engine. Also used outside tests. */
import { httpStore } from '@tidemark/client';
import type { StoreUnderTest } from '@tidemark/conformance';
import type { Store } from '@tidemark/core';
import { postgresStore } from '@tidemark/postgres';
import { createDatabase, dropDatabase } from '../../postgres/test/servers.ts';
import { createServer } from '../src/index.ts';

/** Client, server and engine share this process with many concurrent cases. */
const TIMEOUT_MS = 60_000;

/** Data that can be opened, and is removed after the kit. */
export interface Backing {
  open(): Promise<Store>;
  remove(): void | Promise<void>;
}

/** A new database of a PostgreSQL server. */
export async function onPostgres(server: string): Promise<Backing> {
  const url = await createDatabase(server);
  return { open: () => postgresStore({ url }), remove: () => dropDatabase(url) };
}

function connect(url: string): Promise<Store> {
  return httpStore({ url, timeoutMs: TIMEOUT_MS });
}

/** Opens a client on a new server. Closing the client closes both. */
async function openThrough(backing: Backing): Promise<{ client: Store; url: string; stop: () => Promise<void> }> {
  const store = await backing.open();
  const server = createServer({ store });
  const url = await server.listen();
  const stop = async () => {
    await server.close();
    await store.close();
  };
  return { client: await connect(url), url, stop };
}

export async function openUnderTest(backing: Backing): Promise<StoreUnderTest> {
  let opened = await openThrough(backing);
  const under: StoreUnderTest = {
    store: opened.client,
    peer: () => connect(opened.url),
    reopen: async () => {
      await opened.client.close();
      await opened.stop();
      opened = await openThrough(backing);
      return opened.client;
    },
    dispose: async () => {
      await opened.stop();
      await backing.remove();
    },
  };
  return under;
}
