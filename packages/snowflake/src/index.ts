/** Copies the events of a store to Snowflake, where views show runs and steps next to your other data. */
export { type DbtSourceOptions, dbtSources } from './dbt.ts';
export type { SnowflakeAccount, SnowflakeSinkOptions, SnowflakeStage } from './options.ts';
export { type SnowflakePlanOptions, snowflakePlan } from './plan.ts';
export { migrateSnowflake, type SnowflakeMigration } from './schema/schema.ts';
export { createSnowflakeSink, type SnowflakeSink, type SnowflakeSinkStatus } from './sink.ts';
