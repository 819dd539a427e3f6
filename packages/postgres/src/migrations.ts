/** Migrates a schema: applies each migration in one transaction with its version, under one lock. */
import { TidemarkError } from '@tidemark/core';
import { type ChainFormat, NEWEST_CHAIN_FORMAT } from '@tidemark/core/engine';
import type pg from 'pg';
import {
  MARKER,
  type Migration,
  type MigrationOptions,
  type MigrationState,
  OPTIONAL,
  planMigrations,
  RAISE_MARKER,
  recordSql,
  setUpSql,
} from './migration-plan.ts';
import { checkSchema, DEFAULT_SCHEMA } from './options.ts';
import { Dialect } from './sql.ts';

/** A single lock for all schemas, so that migrations of one database wait for each other. */
const LOCK = 7_420_042;

interface Applied {
  version: number;
  oldest_reader: number;
}

/** Applies the missing migrations. Any number of processes may start at once: one migrates while the others wait. */
export async function migrate(client: pg.ClientBase, options: MigrationOptions): Promise<void> {
  const dialect = new Dialect(checkSchema(options.schema ?? DEFAULT_SCHEMA));
  const plan = planMigrations(options);
  if (isComplete(await appliedMigrations(client, dialect), plan, dialect)) return;
  let isNew = false;
  for (const migration of [null, ...plan]) {
    // The lock belongs to the transaction, so that it also works behind a pooler. Uses read committed regardless of the
    // default, because an older snapshot would not show the migrations of earlier holders of the lock.
    await client.query(
      `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(${LOCK})`,
    );
    try {
      if (migration === null) await client.query(setUpSql(dialect));
      else if (!(await appliedMigrations(client, dialect)).some(({ version }) => version === migration.version)) {
        await client.query(migration.sql);
        await client.query(recordSql(dialect, migration));
        if (migration.version === 1) isNew = true;
      }
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {});
      throw error;
    }
  }
  // No older library can use a schema that this process created.
  if (isNew) await raiseMarker(client, dialect);
}

/** Returns the migrations for these options, and those applied beyond them, in order. Changes nothing. */
export async function migrationStates(client: pg.ClientBase, options: MigrationOptions): Promise<MigrationState[]> {
  const dialect = new Dialect(checkSchema(options.schema ?? DEFAULT_SCHEMA));
  const applied = new Map<number, MigrationState>();
  if (await isSetUp(client, dialect)) {
    const { rows } = await client.query(dialect.script('SELECT version, name, applied_at FROM @tidemark_migrations'));
    for (const { version, name, applied_at: time } of rows)
      applied.set(version, { version, name, appliedAt: (time as Date).toISOString() });
  }
  const planned = planMigrations(options).map(({ version, name }) => ({ version, name, appliedAt: null }));
  const all = new Map<number, MigrationState>([...planned.map((it) => [it.version, it] as const), ...applied]);
  return [...all.values()].sort((a, b) => a.version - b.version);
}

const READ_MARKER = `SELECT 1 FROM @tidemark_migrations WHERE ${MARKER} AND oldest_reader >= version`;

/** Returns the newest chain format that writers of the schema may use. */
export async function readMarker(client: Pick<pg.ClientBase, 'query'>, dialect: Dialect): Promise<ChainFormat> {
  const { rows } = await client.query(dialect.script(READ_MARKER));
  return rows.length > 0 ? NEWEST_CHAIN_FORMAT : 1;
}

/** Raises the marker. From then on, libraries that do not know the format cannot open the schema. */
export async function raiseMarker(client: pg.ClientBase, dialect: Dialect): Promise<void> {
  if ((await readMarker(client, dialect)) < NEWEST_CHAIN_FORMAT) await client.query(dialect.script(RAISE_MARKER));
}

/** Whether no migration is missing. Throws `SCHEMA_MISMATCH` for a schema that only a newer library can use. */
function isComplete(applied: readonly Applied[], plan: readonly Migration[], dialect: Dialect): boolean {
  const known = Math.max(...plan.map(({ version }) => version).filter((version) => !(version in OPTIONAL)));
  const newest = Math.max(0, ...applied.map(({ version }) => version).filter((version) => !(version in OPTIONAL)));
  const needed = Math.max(0, ...applied.map(({ oldest_reader }) => oldest_reader).filter((version) => version < 1000));
  if (newest > known && needed > known) {
    throw new TidemarkError(
      'SCHEMA_MISMATCH',
      `Schema ${dialect.schema} was written by a newer Tidemark (version ${newest}; this library knows ${known}): update the tidemark packages`,
      { current: newest },
    );
  }
  return plan.every(({ version }) => applied.some((it) => it.version === version));
}

/** Whether the schema has a table of migrations. */
async function isSetUp(client: pg.ClientBase, dialect: Dialect): Promise<boolean> {
  const { rows } = await client.query(`SELECT to_regclass($1) IS NOT NULL AS there`, [
    `"${dialect.schema}".tidemark_migrations`,
  ]);
  return rows[0].there;
}

async function appliedMigrations(client: pg.ClientBase, dialect: Dialect): Promise<Applied[]> {
  if (!(await isSetUp(client, dialect))) return [];
  return (
    await client.query(dialect.script('SELECT version, oldest_reader FROM @tidemark_migrations ORDER BY version'))
  ).rows;
}

/** Throws `SCHEMA_MISMATCH` if a migration is missing. For stores opened with `migrate: false`. */
export async function checkMigrated(client: pg.ClientBase, options: MigrationOptions): Promise<void> {
  const dialect = new Dialect(checkSchema(options.schema ?? DEFAULT_SCHEMA));
  if (isComplete(await appliedMigrations(client, dialect), planMigrations(options), dialect)) return;
  throw new TidemarkError(
    'SCHEMA_MISMATCH',
    `Schema ${dialect.schema} is not up to date: run the migrations, or open with migrate: true`,
  );
}
