/** What Tidemark's SQL engines share: agents, KV records and artifacts, written once for SQLite and PostgreSQL. */
export { sqlAgents } from './agents.ts';
export { type LargeBlobs, type StagedBlob, sqlArtifacts } from './artifacts.ts';
export { NOW, type Revisions, type SqlDatabase, type SqlSignals, type SqlTransaction, type SqlValue } from './database.ts';
export { sqlRecords } from './records.ts';
export { integerOf, type SqlInteger } from './values.ts';
