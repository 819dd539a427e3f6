/** Servers with auth, for the security tests. */
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { sqliteStore } from '@tidemark/sqlite';
import { onTestFinished } from 'vitest';
import {
  ApiKeys,
  type BearerOptions,
  bearer,
  createServer,
  type NewApiKey,
  type ServerOptions,
  type TidemarkServer,
} from '../src/index.ts';
import { newFolder } from './running.ts';

export interface Secured {
  store: Store;
  /** Path of the SQLite file. */
  path: string;
  url: string;
  keys: ApiKeys;
  /** Creates a key and returns its header. Default: an operator with all scopes. */
  keyFor(wanted?: Partial<NewApiKey>): Promise<Record<string, string>>;
  /** Everything the server has logged. */
  logged: unknown[];
  server: TidemarkServer;
}

/** Returns the header for a key or token. */
export function bearing(token: string): Record<string, string> {
  return { authorization: `Bearer ${token}` };
}

/** Starts a server on a new SQLite file that accepts API keys. */
export async function startSecured(
  options: Partial<ServerOptions> = {},
  auth: Partial<BearerOptions> = {},
): Promise<Secured> {
  const path = join(newFolder(), 'store.db');
  const store = await sqliteStore(path);
  const keys = new ApiKeys(store);
  const logged: unknown[] = [];
  const log = (entry: unknown) => void logged.push(entry);
  const logger = { info: log, error: log };
  const server = createServer({ store, auth: bearer({ keys, ...auth }), logger, inspector: false, ...options });
  const url = await server.listen();
  onTestFinished(async () => {
    await server.close();
    await store.close();
  });
  const keyFor = async (wanted: Partial<NewApiKey> = {}) => {
    const { key } = await keys.create({ name: 'test', tenantId: null, scopes: ['admin'], ...wanted }, { by: 'a test' });
    return bearing(key);
  };
  return { store, path, url, keys, keyFor, logged, server };
}
