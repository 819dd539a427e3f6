/**
 * LangGraph on Tidemark: `TidemarkSaver` stores the checkpoints of threads, `TidemarkStore` stores long-term memory.
 */
export { TidemarkStore, type TidemarkStoreOptions } from './memory.ts';
export type { Pruned, PruneOptions } from './prune.ts';
export { TidemarkSaver, type TidemarkSaverOptions } from './saver.ts';
