/** Tidemark on PostgreSQL: the production engine. */
export {
  type Migration,
  type MigrationOptions,
  type MigrationState,
  migrationScript,
  planMigrations,
} from './migration-plan.ts';
export type { PostgresOptions } from './options.ts';
export type { MoveOptions, MoveProgress, MoveReport } from './placement/mover.ts';
export { type OpenMove, type PlacedTenant, placementOf, type TenantPlacement } from './placement/tenant-placement.ts';
export { migrationStatus, openUrl, postgresStore } from './store.ts';
