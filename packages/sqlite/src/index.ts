/** Tidemark on SQLite: the embedded default. */
export { appliedTimes, loadMigrations, type Migration } from './migrations.ts';
export { type SqliteOptions, type SqliteStore, sqliteStore } from './store.ts';
