/**
 * The engines that the runtime is tested on, each with a fresh database that can be opened several times. DynamoDB is not
 * among them, because every step on its emulator is an HTTP request.
 */
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Store } from '@tidemark/core';
import { natsStore } from '@tidemark/nats';
import { postgresStore } from '@tidemark/postgres';
import { redisStore } from '@tidemark/redis';
import { sqliteStore } from '@tidemark/sqlite';
import { offeredUrl } from '../../../scripts/servers/index.ts';

export interface Database {
  /** Opens another connection to the same data, as another process would. */
  open(): Promise<Store>;
  remove(): Promise<void>;
}

export const ENGINES: Record<string, () => Promise<Database>> = {
  sqlite: async () => {
    const directory = await mkdtemp(join(tmpdir(), 'tidemark-runtime-'));
    return {
      open: () => sqliteStore(join(directory, 'state.db')),
      remove: () => rm(directory, { recursive: true }),
    };
  },
  postgres: async () => {
    const schema = `runtime_${crypto.randomUUID().slice(0, 8)}`;
    return {
      open: () => postgresStore({ url: offeredUrl('postgres')!, schema }),
      remove: async () => {},
    };
  },
  redis: async () => {
    const prefix = `runtime-${crypto.randomUUID()}`;
    return { open: () => redisStore({ url: offeredUrl('redis')!, prefix }), remove: async () => {} };
  },
  nats: async () => {
    const prefix = `runtime_${crypto.randomUUID().slice(0, 8)}`;
    return { open: () => natsStore({ url: offeredUrl('nats')!, prefix }), remove: async () => {} };
  },
};
