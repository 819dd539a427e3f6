/**
 * The tables of a sink, as numbered migrations. Each statement can be repeated, because Snowflake commits every DDL
 * statement separately: an interrupted migration is run again from its beginning.
 */
import { columnDefinition, LOADED_COLUMNS } from './columns.ts';

export interface Migration {
  version: number;
  statements: (schemaName: string) => string[];
}

/**
 * Never change a migration that was released: add one with `ALTER TABLE … ADD COLUMN IF NOT EXISTS`. Views are created
 * again after every migration.
 */
export const MIGRATIONS: readonly Migration[] = [
  {
    version: 1,
    statements: (schemaName) => [
      `CREATE TABLE IF NOT EXISTS ${schemaName}.EVENT_LOG (\n  ${[
        ...LOADED_COLUMNS.map(columnDefinition),
        'VERSION BIGINT NOT NULL',
        'LOADED_AT TIMESTAMPTZ NOT NULL',
      ].join(',\n  ')}\n)`,
      `CREATE TABLE IF NOT EXISTS ${schemaName}.RUN_REMOVALS (
  TENANT_ID VARCHAR NOT NULL,
  RUN_ID VARCHAR NOT NULL,
  LIFE BIGINT NOT NULL,
  REMOVED_BEFORE BIGINT NOT NULL,
  NOTED_AT TIMESTAMPTZ NOT NULL
)`,
      `CREATE TABLE IF NOT EXISTS ${schemaName}.PAGE_INBOX (
  NAME VARCHAR NOT NULL,
  EVENT VARIANT,
  STAGED_AT TIMESTAMPTZ DEFAULT CURRENT_TIMESTAMP::TIMESTAMPTZ
)`,
    ],
  },
];

export const NEWEST_VERSION = MIGRATIONS.at(-1)!.version;

export function versionTable(schemaName: string): string {
  return `CREATE TABLE IF NOT EXISTS ${schemaName}.SCHEMA_VERSIONS (
  VERSION BIGINT NOT NULL,
  APPLIED_AT TIMESTAMPTZ NOT NULL
)`;
}

export function recordVersion(schemaName: string, version: number): string {
  return `MERGE INTO ${schemaName}.SCHEMA_VERSIONS AS T USING (SELECT ${version} AS VERSION) AS S ON T.VERSION = S.VERSION
WHEN NOT MATCHED THEN INSERT (VERSION, APPLIED_AT) VALUES (S.VERSION, CURRENT_TIMESTAMP)`;
}

export function currentVersion(schemaName: string): string {
  return `SELECT MAX(VERSION) AS VERSION FROM ${schemaName}.SCHEMA_VERSIONS`;
}
