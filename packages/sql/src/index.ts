/** What Tidemark's SQL engines share: agents, KV records and artifacts, written once for SQLite and PostgreSQL. */
export { sqlAgents } from './agents.ts';
export type { LargeBlobs, StagedBlob } from './artifacts/large-blobs.ts';
export { sqlArtifacts } from './artifacts.ts';
export { sqlCleaner } from './cleaning.ts';
export {
  NOW,
  type Revisions,
  type SqlDatabase,
  type SqlSignals,
  type SqlTransaction,
  type SqlValue,
} from './database.ts';
export { removeQuarantine, sqlQuarantines } from './quarantines.ts';
export { settleRaces } from './records/races.ts';
export { type SqlRecords, sqlRecords } from './records.ts';
export { runListSql } from './run-list.ts';
export {
  EVENT_COLUMNS,
  type EventValue,
  eventOf,
  HEAD_COLUMNS,
  headOf,
  headsOf,
  valuesOfEvent,
  valuesOfHead,
} from './runs.ts';
export { sqlTenancy } from './tenancy.ts';
export { integerOf, type SqlInteger } from './values.ts';
