/** The loops around a store: subscriptions, the projector, workers and the sweeper. */
export type { DeadLetter } from './dead-letters.ts';
export * from './jobs/index.ts';
export * from './projector.ts';
export * from './subscriptions.ts';
