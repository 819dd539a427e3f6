/** Migrates a file to the newest schema: numbered SQL files, each in its own transaction with its version. */
import { TidemarkError } from '@tidemark/core';
import { type ChainFormat, NEWEST_CHAIN_FORMAT } from '@tidemark/core/engine';
import type { Connection } from './connection.ts';
import { DatabaseSync } from './node-sqlite.ts';
import { TEXTS } from './text-files.ts';

/** A numbered change of the tables, with its SQL. */
export interface Migration {
  version: number;
  name: string;
  sql: string;
  /**
   * The oldest schema version whose library still works on a file with this migration. Libraries of versions n and n−1
   * can share a file if this is at most n−1.
   */
  oldestReader: number;
}

/**
 * Returns all migrations in order. A line `-- oldest reader: N` states the oldest version that may use a migrated file.
 */
export function loadMigrations(): Migration[] {
  return Object.entries(TEXTS)
    .filter(([file]) => /^\d{4}_\w+\.sql$/.test(file))
    .map(([file, sql]) => {
      const version = Number(file.slice(0, 4));
      const oldestReader = Number(/^-- oldest reader: (\d+)$/m.exec(sql)?.[1] ?? version);
      return { version, name: file.slice(5, -4), sql, oldestReader };
    });
}

interface Applied {
  version: number;
  oldest_reader: number;
}

/** Returns the applied migrations, newest last; empty for a new file. */
export function appliedMigrations(connection: Connection): Applied[] {
  const known = connection.get("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'tidemark_migrations'");
  if (!known) return [];
  return connection.all<Applied>('SELECT version, oldest_reader FROM tidemark_migrations ORDER BY version');
}

/**
 * Returns when each migration was applied to a file, in milliseconds, by version. Reads the file directly, because
 * opening it as a store would migrate it.
 *
 * @example
 * const store = await sqliteStore('app.db');
 * await store.close();
 * console.log(appliedTimes('app.db').size === loadMigrations().length); // true
 */
export function appliedTimes(file: string): Map<number, number> {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const known = database.prepare("SELECT 1 FROM sqlite_schema WHERE name = 'tidemark_migrations'").get();
    const rows = known ? database.prepare('SELECT version, applied_at FROM tidemark_migrations').all() : [];
    return new Map(rows.map(({ version, applied_at: time }) => [Number(version), Number(time)]));
  } finally {
    database.close();
  }
}

/** Throws `SCHEMA_MISMATCH` for a file that only a newer library can use. */
export function checkReadable(applied: readonly Applied[], known: number, path: string): void {
  const newest = applied.at(-1);
  const needed = Math.max(0, ...applied.map((it) => it.oldest_reader));
  if (!newest || newest.version <= known || needed <= known) return;
  throw new TidemarkError(
    'SCHEMA_MISMATCH',
    `${path} was written by a newer Tidemark (schema ${newest.version}; this library knows ${known}): update the tidemark packages`,
    { current: newest.version },
  );
}

/**
 * Selects the migration whose `oldest_reader` is the store's marker. It is raised to the migration's own version once
 * writers may use chain format 2.
 */
const MARKER = "name = 'chain_format'";

/** Returns the newest chain format that writers of the file may use. */
export function readMarker(connection: Connection): ChainFormat {
  const row = connection.get<{ raised: number }>(
    `SELECT oldest_reader >= version AS raised FROM tidemark_migrations WHERE ${MARKER}`,
  );
  return row?.raised ? NEWEST_CHAIN_FORMAT : 1;
}

/** Raises the marker. Libraries that do not know the format refuse the file from then on. */
export function raiseMarker(connection: Connection): void {
  connection.database.exec(
    `UPDATE tidemark_migrations SET oldest_reader = version WHERE ${MARKER} AND oldest_reader < version`,
  );
}

/** Applies one migration inside the caller's transaction, which holds the write lock. */
export function applyMigration(connection: Connection, migration: Migration, now: number): void {
  connection.database.exec(`
    CREATE TABLE IF NOT EXISTS tidemark_migrations (
      version       INTEGER PRIMARY KEY,
      name          TEXT    NOT NULL,
      oldest_reader INTEGER NOT NULL,
      applied_at    INTEGER NOT NULL
    ) STRICT`);
  connection.database.exec(migration.sql);
  connection.database
    .prepare('INSERT INTO tidemark_migrations (version, name, oldest_reader, applied_at) VALUES (?, ?, ?, ?)')
    .run(migration.version, migration.name, migration.oldestReader, now);
}
