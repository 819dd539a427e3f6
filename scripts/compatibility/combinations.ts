/** Runs the kit through a client and a server of different versions, on SQLite. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import * as client from '@tidemark/client';
import type { StoreUnderTest } from '@tidemark/conformance';
import type { Store } from '@tidemark/core';
import * as server from '@tidemark/server';
import * as sqlite from '@tidemark/sqlite';
import { NEW_CLIENT_OLD_SERVER, OLD_CLIENT_NEW_SERVER } from './declared.ts';
import { withNewNames } from './names-of-0-1.ts';
import { importReleased, installRelease, RELEASES } from './released.ts';

const TIMEOUT_MS = 60_000;

type Client = Pick<typeof client, 'httpStore'>;
type Server = Pick<typeof server, 'createServer'> & Pick<typeof sqlite, 'sqliteStore'>;

/** A client and a server of different versions. */
export interface Pairing {
  title: string;
  /** Cases that cannot pass between these two, with the reason. All other cases must pass. */
  declared: Readonly<Record<string, string>>;
  start(): Promise<{ version: string; openUnderTest(): Promise<StoreUnderTest>; stop(): Promise<void> }>;
}

const NEW_SERVER: Server = { createServer: server.createServer, sqliteStore: sqlite.sqliteStore };

export const PAIRINGS: Pairing[] = Object.entries(RELEASES).flatMap(([version, commit]) => [
  {
    title: `Client ${version} with the current server`,
    declared: OLD_CLIENT_NEW_SERVER,
    start: async () => {
      const old = await importReleased<Client>(installRelease(commit), '@tidemark/client');
      const httpStore: Client['httpStore'] = async (options) => withNewNames(await old.httpStore(options));
      return setting(version, { httpStore }, NEW_SERVER);
    },
  },
  {
    title: `Client of the current version with server ${version}`,
    declared: NEW_CLIENT_OLD_SERVER,
    start: async () => {
      const folder = installRelease(commit);
      const { createServer } = await importReleased<Server>(folder, '@tidemark/server');
      const { sqliteStore } = await importReleased<Server>(folder, '@tidemark/sqlite');
      return setting(version, client, { createServer, sqliteStore });
    },
  },
]);

function setting(version: string, { httpStore }: Client, on: Server) {
  const clients: Store[] = [];
  const connect = async (url: string): Promise<Store> => {
    const opened = await httpStore({ url, timeoutMs: TIMEOUT_MS });
    clients.push(opened);
    return opened;
  };
  return {
    version,
    openUnderTest: () => openUnderTest(connect, on),
    // A failed case may have left a live read behind, which would try to reach its server forever.
    stop: async () => void (await Promise.allSettled(clients.map((it) => it.close()))),
  };
}

/** Opens a client on a new server with its own file. */
async function openUnderTest(connect: (url: string) => Promise<Store>, on: Server): Promise<StoreUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-versions-'));
  const open = async () => {
    const store = await on.sqliteStore(join(folder, 'store.db'));
    const running = on.createServer({ store });
    const url = await running.listen();
    const stop = async () => {
      await running.close();
      await store.close();
    };
    return { client: await connect(url), url, stop };
  };
  let opened = await open();
  return {
    store: opened.client,
    peer: () => connect(opened.url),
    reopen: async () => {
      await opened.client.close();
      await opened.stop();
      opened = await open();
      return opened.client;
    },
    dispose: async () => {
      await opened.stop();
      rmSync(folder, { recursive: true });
    },
  };
}
