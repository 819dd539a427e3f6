/** Tidemark on NATS JetStream. */
export type { NatsOptions } from './options.ts';
export { natsStore, openUrl } from './store.ts';
