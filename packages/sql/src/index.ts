/**
 * The code that Tidemark's SQL engines share, written once for SQLite and PostgreSQL: runs except append and feed,
 * records, agents, artifacts.
 */
export { SQL_ABILITIES } from './abilities.ts';
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
export { type Chain, type ChainPlan, type ChainRows, planChain } from './records/chain.ts';
export { settleRaces } from './records/races.ts';
export { type FieldRow, gatherRecords, storedRecord } from './records/rows.ts';
export type { Seen } from './records/seen.ts';
export type { AloneRecords, SharedRecords } from './records/shared.ts';
export {
  changedBy,
  idOf,
  type MadeChange,
  needsFields,
  type RecordRow,
  requestsColumn,
  requestsIn,
  seenRows,
} from './records/step.ts';
export { fieldSum, recordStart, recordSum } from './records/sums.ts';
export { type SqlRecords, sqlRecords } from './records.ts';
export type { SqlRunDatabase, SqlRunTransaction } from './runs/database.ts';
export { type RedactionOutcome, type RunDialect, SqlRuns } from './runs/engine.ts';
export {
  endText,
  FEED_COLUMNS,
  feedColumns,
  feedEntry,
  feedEntryOrNotice,
  lockHead,
  NOT_REMOVED,
  NOTICE_COLUMNS,
  SELECT_HEAD,
} from './runs/reading.ts';
export { beginLife } from './runs/removal.ts';
export { columnOf, EVENT_COLUMNS, HEAD_COLUMNS, headOf, valuesOfHead } from './runs/rows.ts';
export { writeInSameCommit } from './runs/same-commit.ts';
export { sqlTenancy } from './tenancy.ts';
export { integerOf, type SqlInteger } from './values.ts';
