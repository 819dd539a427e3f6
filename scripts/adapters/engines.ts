/** The engines that the adapters for frameworks are tested on, each with a separate store. */
import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { httpStore } from '@tidemark/client';
import { memoryStore, type Store } from '@tidemark/core';
import { natsStore } from '@tidemark/nats';
import { postgresStore } from '@tidemark/postgres';
import { redisStore } from '@tidemark/redis';
import { createServer } from '@tidemark/server';
import { sqliteStore } from '@tidemark/sqlite';
import { offeredUrl } from '../servers/index.ts';

const suffix = () => crypto.randomUUID().slice(0, 8);

export const ENGINES: Record<string, () => Promise<Store>> = {
  memory: async () => memoryStore(),
  sqlite: async () => sqliteStore(join(await mkdtemp(join(tmpdir(), 'tidemark-adapter-')), 'state.db')),
  ...(offeredUrl('postgres') && {
    postgres: () => postgresStore({ url: offeredUrl('postgres')!, schema: `adapter_${suffix()}` }),
  }),
  ...(offeredUrl('redis') && {
    redis: () => redisStore({ url: offeredUrl('redis')!, prefix: `adapter-${suffix()}` }),
  }),
  ...(offeredUrl('nats') && { nats: () => natsStore({ url: offeredUrl('nats')!, prefix: `adapter_${suffix()}` }) }),
  http: async () => {
    const server = createServer({ store: memoryStore(), logger: { info() {}, error() {} } });
    const store = await httpStore(await server.listen());
    const close = store.close.bind(store);
    store.close = async () => {
      await close();
      await server.close();
    };
    return store;
  },
};
