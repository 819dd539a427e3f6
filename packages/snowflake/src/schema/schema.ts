/** Creates and checks the tables and views of a sink. */
import { TidemarkError } from '@tidemark/core';
import { StatementFailed } from '../errors.ts';
import { readAccount, type SnowflakeAccount } from '../options.ts';
import { SqlApi } from '../sql-api.ts';
import {
  currentVersion,
  MIGRATIONS,
  type Migration,
  NEWEST_VERSION,
  recordVersion,
  versionTable,
} from './migrations.ts';
import { viewStatements } from './views.ts';

/** The result of `migrateSnowflake`. */
export interface SnowflakeMigration {
  /** The previous version, or 0 if there were no tables. */
  from: number;
  to: number;
}

/**
 * Creates or updates the tables and views of a sink. Run it after every update of this package. It may be run again and
 * by several processes at once.
 *
 * @throws `SCHEMA_MISMATCH` if the tables were created by a newer version.
 *
 * @example
 * const key = readFileSync('tidemark.p8', 'utf8');
 * await migrateSnowflake({ account: 'acme-analytics', user: 'ADMIN', key, database: 'ANALYTICS' });
 */
export function migrateSnowflake(options: SnowflakeAccount): Promise<SnowflakeMigration> {
  const account = readAccount(options);
  return migrate(new SqlApi(account), account.schemaName, MIGRATIONS);
}

export async function migrate(
  api: SqlApi,
  schemaName: string,
  migrations: readonly Migration[],
): Promise<SnowflakeMigration> {
  const newest = migrations.at(-1)!.version;
  await api.run(versionTable(schemaName));
  const from = await versionOf(api, schemaName);
  if (from > newest) throw tooNew(from, newest);
  for (const { version, statements } of migrations) {
    if (version <= from) continue;
    for (const statement of statements(schemaName)) await api.run(statement);
    await api.run(recordVersion(schemaName, version));
  }
  for (const statement of viewStatements(schemaName)) await api.run(statement);
  return { from, to: newest };
}

/** Throws `SCHEMA_MISMATCH` unless the tables are those that this version of the package writes. */
export async function checkSchema(api: SqlApi, schemaName: string): Promise<void> {
  const found = await versionOf(api, schemaName).catch((error) => {
    if (error instanceof StatementFailed && error.isAboutMissing) return 0;
    throw error;
  });
  if (found > NEWEST_VERSION) throw tooNew(found, NEWEST_VERSION);
  if (found < NEWEST_VERSION)
    throw new TidemarkError(
      'SCHEMA_MISMATCH',
      `The tables in ${schemaName} ${found === 0 ? 'do not exist, or the role may not read them' : `have version ${found} instead of ${NEWEST_VERSION}`}. Run \`tidemark sink migrate\``,
    );
}

async function versionOf(api: SqlApi, schemaName: string): Promise<number> {
  const { rows } = await api.run(currentVersion(schemaName));
  return Number(rows[0]?.[0] ?? 0);
}

function tooNew(found: number, known: number): TidemarkError {
  return new TidemarkError(
    'SCHEMA_MISMATCH',
    `The tables in Snowflake have version ${found}; this version of @tidemark/snowflake knows versions up to ${known}. Update it`,
  );
}
