/** Retention: removes old data according to policies. */
export * from './policies.ts';
export type { RetentionCounts, RetentionReport } from './report.ts';
export {
  createRetention,
  type PassOptions,
  type Retention,
  type RetentionOptions,
  type RetentionPoint,
} from './retention.ts';
export type { RunArchiver } from './runs.ts';
