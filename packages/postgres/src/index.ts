/** Tidemark on PostgreSQL: the production engine. */
export {
  type Migration,
  type MigrationOptions,
  type MigrationState,
  migrationScript,
  planMigrations,
} from './migration-plan.ts';
export type { PostgresOptions } from './options.ts';
export {
  type MoveOptions,
  type MoveProgress,
  type MoveReport,
  type OpenMove,
  type PlacedTenant,
  placementOf,
  type TenantPlacement,
} from './placement/placement.ts';
export { migrationStatus, openUrl, postgresStore } from './store.ts';
