/**
 * Background work for a store: subscriptions, projector, workers, sweeper, retention and archiver. Also copies between
 * stores.
 */
export * from './archive/index.ts';
export * from './checkpoints/index.ts';
export * from './copy/index.ts';
export type { DeadLetter, DeadLetterKey } from './dead-letters.ts';
export * from './export/index.ts';
export * from './jobs/index.ts';
export * from './loops.ts';
export * from './page-subscriptions.ts';
export * from './projector.ts';
export * from './reseal.ts';
export * from './retention/index.ts';
export * from './subscriptions.ts';
