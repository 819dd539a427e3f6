/** What people install: `open` a store, and everything its contract speaks of. */
export * from '@tidemark/core';
export type { PartName } from './compose.ts';
export { type OpenOptions, STORE_SCHEMES } from './drivers.ts';
export { type Composition, DEFAULT_PATH, open } from './open.ts';
