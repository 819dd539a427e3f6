/** The engines that races run on: each provides an empty database and opens any number of connections to it. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store, StoreOptions } from '@tidemark/core';
import { open } from 'tidemark';
import { offeredUrl, type ServerName, startOwnServer } from '../../scripts/servers/index.ts';

export const ENGINES = ['memory', 'sqlite', 'postgres', 'redis', 'nats', 'dynamodb'] as const;

export type EngineName = (typeof ENGINES)[number];

/** Data that several connections share. */
export interface Database {
  /** The URL of the data. */
  url: string;
  open(options?: StoreOptions): Promise<Store>;
  remove(): Promise<void>;
}

/** Opens an empty database on an engine, on a running server if one is configured or on a new one. */
export async function newDatabase(engine: EngineName): Promise<Database> {
  if (engine === 'memory') return memoryDatabase();
  if (engine === 'sqlite') return sqliteDatabase();
  const own = offeredUrl(engine) === undefined ? await startOwnServer(engine) : undefined;
  const url = databaseUrl(engine, own?.url ?? offeredUrl(engine)!);
  return { url, open: (options) => open(url, options), remove: async () => own?.stop() };
}

/**
 * A memory store lives in one process: every connection is the same store, opened with the first options and closed
 * with the database.
 */
async function memoryDatabase(): Promise<Database> {
  let store: Promise<Store> | undefined;
  let close = async () => {};
  const openShared = async (options?: StoreOptions) => {
    const opened = await open('memory:', options);
    close = opened.close.bind(opened);
    opened.close = async () => {};
    return opened;
  };
  const shared = (options?: StoreOptions) => {
    store ??= openShared(options);
    return store;
  };
  return { url: 'memory:', open: shared, remove: () => close() };
}

function sqliteDatabase(): Database {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-race-'));
  const url = `sqlite:${join(folder, 'store.db')}`;
  return {
    url,
    open: (options) => open(url, options),
    remove: async () => rmSync(folder, { recursive: true }),
  };
}

function databaseUrl(engine: ServerName, server: string): string {
  const url = new URL(server);
  const name = `race_${crypto.randomUUID().slice(0, 8)}`;
  url.searchParams.set(engine === 'postgres' ? 'schema' : 'prefix', name);
  return url.href;
}
