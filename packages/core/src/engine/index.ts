/** The entry for backend authors: the ports, which an engine implements, and the toolbox, which helps to. */
export * from '../toolbox.ts';
export * from './agents.ts';
export * from './artifacts.ts';
export * from './blobs.ts';
export * from './call.ts';
export * from './journal.ts';
export * from './quarantines.ts';
export * from './records.ts';
export * from './run-key.ts';
export * from './runs.ts';
export * from './tenancy.ts';
