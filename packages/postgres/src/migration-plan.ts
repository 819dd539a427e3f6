/** The migrations of a schema: numbered SQL files, with names and options filled in. Needs no driver. */
import { withUrlOptions } from '@tidemark/core/engine';
import { checkSchema, DEFAULT_SCHEMA, type PostgresOptions, URL_OPTIONS } from './options.ts';
import { Dialect } from './sql.ts';
import { TEXTS } from './text-files.ts';

/** A numbered change of the tables, with its SQL. */
export interface Migration {
  version: number;
  name: string;
  sql: string;
  /** The oldest schema version whose library still works with this migration. */
  oldestReader: number;
}

/**
 * The options that decide the shape of the tables.
 *
 * @example
 * console.log(planMigrations({ rowLevelSecurity: true }).map(({ version }) => version));
 */
export type MigrationOptions = Pick<
  PostgresOptions,
  'schema' | 'partitions' | 'rowLevelSecurity' | 'payloadIndex' | 'updateIndex' | 'servers' | 'upgrade'
>;

/** Migrations that are applied only when their option is on. */
export const OPTIONAL: Record<number, keyof MigrationOptions> = {
  1001: 'rowLevelSecurity',
  1002: 'payloadIndex',
  1003: 'updateIndex',
  1004: 'servers',
};

/**
 * A migration, and when it was applied to a schema: RFC 3339, or `null`.
 *
 * @example
 * for (const { version, name, appliedAt } of await migrationStatus({ url: 'postgres://localhost/app' }))
 *   console.log(version, name, appliedAt ?? 'missing');
 */
export interface MigrationState {
  version: number;
  name: string;
  appliedAt: string | null;
}

/**
 * Selects the migration whose `oldest_reader` is the store's marker. It is raised to the migration's own version once
 * writers may use chain format 2.
 */
export const MARKER = "name = 'chain_format'";
export const RAISE_MARKER = `UPDATE @tidemark_migrations SET oldest_reader = version WHERE ${MARKER}`;

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
      return option === undefined || (options[option] !== undefined && options[option] !== false);
    });
}

const PARTITIONED = / \{partitioned\}( \{fillfactor\})?$/;

/**
 * Creates partitions right after their table; plain tables get a fill factor, so that heads can be updated in place.
 */
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

/**
 * Returns all migrations as one script, to be run by hand. Options may also be in the query of `url`.
 *
 * @example
 * import { writeFileSync } from 'node:fs';
 *
 * writeFileSync('migrate.sql', migrationScript({ schema: 'app', rowLevelSecurity: true }));
 */
export function migrationScript(given: MigrationOptions & { url?: string } = {}): string {
  const options: MigrationOptions = withUrlOptions({ ...given, url: given.url ?? '' }, URL_OPTIONS);
  const dialect = new Dialect(checkSchema(options.schema ?? DEFAULT_SCHEMA));
  const steps = planMigrations(options).map(
    (migration) =>
      `-- ${migration.version} ${migration.name}\nBEGIN;\n${migration.sql.trim()}\n${recordSql(dialect, migration)};\nCOMMIT;`,
  );
  const marker = `-- For a new schema. In an existing one, run this last, once no process of an older version is left.\n${dialect.script(RAISE_MARKER)};`;
  return `${setUpSql(dialect)}\n\n${steps.join('\n\n')}\n\n${marker}\n`;
}

export function setUpSql(dialect: Dialect): string {
  return dialect.script(`CREATE SCHEMA IF NOT EXISTS "${dialect.schema}";
CREATE TABLE IF NOT EXISTS @tidemark_migrations (
  version       integer PRIMARY KEY,
  name          text   NOT NULL,
  oldest_reader integer NOT NULL,
  applied_at    timestamptz NOT NULL DEFAULT now()
);`);
}

export function recordSql(dialect: Dialect, { version, name, oldestReader }: Migration): string {
  return dialect.script(
    `INSERT INTO @tidemark_migrations (version, name, oldest_reader) VALUES (${version}, '${name}', ${oldestReader})`,
  );
}
