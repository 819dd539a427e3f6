/** Migrates a schema: numbered SQL files, each in one transaction with its version, under one lock. */
import { TidemarkError } from '@tidemark/core';
import { withUrlOptions } from '@tidemark/core/engine';
import type pg from 'pg';
import { checkSchema, DEFAULT_SCHEMA, type PostgresOptions, URL_OPTIONS } from './options.ts';
import { Dialect } from './sql.ts';
import { TEXTS } from './text-files.ts';

export interface Migration {
  version: number;
  name: string;
  sql: string;
  /** The oldest schema version whose library still works with this migration. */
  oldestReader: number;
}

/** The options that decide the shape of the tables. */
export type MigrationOptions = Pick<PostgresOptions, 'schema' | 'partitions' | 'rowLevelSecurity' | 'payloadIndex'>;

/** Migrations that are applied only when their option is on. */
const OPTIONAL: Record<number, keyof MigrationOptions> = { 1001: 'rowLevelSecurity', 1002: 'payloadIndex' };
/** One for all schemas: migrations of one database wait for each other. */
const LOCK = 7_420_042;

/** Returns the migrations for these options in order, with all names filled in. */
export function planMigrations(options: MigrationOptions = {}): Migration[] {
  const dialect = new Dialect(checkSchema(options.schema ?? DEFAULT_SCHEMA));
  return Object.entries(TEXTS)
    .filter(([file]) => /^\d{4}_\w+\.sql$/.test(file))
    .map(([file, text]) => {
      const version = Number(file.slice(0, 4));
      const oldestReader = Number(/^-- oldest reader: (\d+)$/m.exec(text)?.[1] ?? Math.min(version, 999));
      return {
        version,
        name: file.slice(5, -4),
        sql: dialect.script(withPartitions(text, options.partitions)),
        oldestReader,
      };
    })
    .filter(({ version }) => {
      const option = OPTIONAL[version];
      return option === undefined || options[option] === true;
    });
}

const PARTITIONED = / \{partitioned\}( \{fillfactor\})?$/;

/** Creates partitions right after their table; plain tables get a fill factor, so that heads can change in place. */
function withPartitions(sql: string, partitions: number | undefined): string {
  if (partitions === undefined)
    return sql.replaceAll(' {partitioned}', '').replaceAll(' {fillfactor}', ' WITH (fillfactor = 80)');
  return sql
    .split(';')
    .map((statement) => {
      const match = PARTITIONED.exec(statement);
      if (!match) return statement;
      const table = /CREATE TABLE @(\w+) /.exec(statement)![1]!;
      const fill = match[1] ? ' WITH (fillfactor = 80)' : '';
      const parts = Array.from(
        { length: partitions },
        (_, part) =>
          `CREATE TABLE @${table}_p${part} PARTITION OF @${table} FOR VALUES WITH (MODULUS ${partitions}, REMAINDER ${part})${fill}`,
      );
      return [`${statement.slice(0, match.index)} PARTITION BY HASH (run_id)`, ...parts].join(';\n');
    })
    .join(';');
}

/** Returns all migrations as one script, to be run by hand. Options may also be in the query of `url`. */
export function migrationScript(given: MigrationOptions & { url?: string } = {}): string {
  const options: MigrationOptions = withUrlOptions({ ...given, url: given.url ?? '' }, URL_OPTIONS);
  const dialect = new Dialect(checkSchema(options.schema ?? DEFAULT_SCHEMA));
  const steps = planMigrations(options).map(
    (migration) =>
      `-- ${migration.version} ${migration.name}\nBEGIN;\n${migration.sql.trim()}\n${recordSql(dialect, migration)};\nCOMMIT;`,
  );
  return `${setUpSql(dialect)}\n\n${steps.join('\n\n')}\n`;
}

function setUpSql(dialect: Dialect): string {
  return dialect.script(`CREATE SCHEMA IF NOT EXISTS "${dialect.schema}";
CREATE TABLE IF NOT EXISTS @tidemark_migrations (
  version       integer PRIMARY KEY,
  name          text   NOT NULL,
  oldest_reader integer NOT NULL,
  applied_at    timestamptz NOT NULL DEFAULT now()
);`);
}

function recordSql(dialect: Dialect, { version, name, oldestReader }: Migration): string {
  return dialect.script(
    `INSERT INTO @tidemark_migrations (version, name, oldest_reader) VALUES (${version}, '${name}', ${oldestReader})`,
  );
}

interface Applied {
  version: number;
  oldest_reader: number;
}

/** Applies the missing migrations. Any number of processes may start at once: one migrates while the others wait. */
export async function migrate(client: pg.ClientBase, options: MigrationOptions): Promise<void> {
  const dialect = new Dialect(checkSchema(options.schema ?? DEFAULT_SCHEMA));
  const plan = planMigrations(options);
  if (isComplete(await appliedMigrations(client, dialect), plan, dialect)) return;
  for (const migration of [null, ...plan]) {
    // The lock belongs to the transaction, so that it also works behind a pooler. Read committed, whatever the default:
    // an older snapshot would not show migrations by earlier holders of the lock.
    await client.query(
      `BEGIN ISOLATION LEVEL READ COMMITTED; SET LOCAL statement_timeout = 0; SELECT pg_advisory_xact_lock(${LOCK})`,
    );
    try {
      if (migration === null) await client.query(setUpSql(dialect));
      else if (!(await appliedMigrations(client, dialect)).some(({ version }) => version === migration.version)) {
        await client.query(migration.sql);
        await client.query(recordSql(dialect, migration));
      }
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK').catch(() => {});
      throw error;
    }
  }
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

async function appliedMigrations(client: pg.ClientBase, dialect: Dialect): Promise<Applied[]> {
  const { rows } = await client.query(`SELECT to_regclass($1) IS NOT NULL AS there`, [
    `"${dialect.schema}".tidemark_migrations`,
  ]);
  if (!rows[0].there) return [];
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
