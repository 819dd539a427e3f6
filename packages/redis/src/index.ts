/** Tidemark on Redis and Valkey: one server, replicated, or Cluster. */
export type { RedisOptions } from './options.ts';
export { openUrl, redisStore } from './store.ts';
