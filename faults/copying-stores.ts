/** Opens the stores of the copying rig: a path is a SQLite file, anything else a PostgreSQL URL. */
import type { Store } from '@tidemark/core';
import { postgresStore } from '@tidemark/postgres';
import { sqliteStore } from '@tidemark/sqlite';

export function openStoreAt(address: string): Promise<Store> {
  return address.startsWith('/') ? sqliteStore(address) : postgresStore({ url: address, schema: 'copied' });
}
