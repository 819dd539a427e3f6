/** The entry point for backend authors: the ports that an engine implements, and the toolbox to build it with. */
export * from '../toolbox.ts';
export * from './agents.ts';
export * from './artifacts.ts';
export * from './blobs.ts';
export * from './byte-store.ts';
export * from './call.ts';
export * from './journal.ts';
export * from './quarantines.ts';
export * from './records.ts';
export * from './run-key.ts';
export * from './runs.ts';
export * from './tenancy.ts';
