/** Opens the stores of the copying rig: a path is a SQLite file, anything else a PostgreSQL address. */
import type { Store } from '@tidemark/core';
import { postgresStore } from '@tidemark/postgres';
import { sqliteStore } from '@tidemark/sqlite';

export function openPlace(place: string): Promise<Store> {
  return place.startsWith('/') ? sqliteStore(place) : postgresStore({ url: place, schema: 'copied' });
}
