/** Tidemark on PostgreSQL: the production engine. */
export { type Migration, type MigrationOptions, migrationScript, planMigrations } from './migrations.ts';
export type { PostgresOptions } from './options.ts';
export { openUrl, postgresStore } from './store.ts';
