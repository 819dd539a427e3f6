/** The kit's view of stores whose artifacts have their bytes in a bucket, or in memory. */
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { ALL_CASES, type ConformanceCase, type StoreUnderTest } from '@tidemark/conformance';
import type { Store } from '@tidemark/core';
import { type ByteStore, withArtifactBytes } from '@tidemark/core/engine';
import { natsStore } from '@tidemark/nats';
import { postgresStore } from '@tidemark/postgres';
import { redisStore } from '@tidemark/redis';
import { sqliteStore } from '@tidemark/sqlite';
import { announce, revoke, startServers, stopServers } from '../../../scripts/servers/index.ts';
import { s3Bytes } from '../src/index.ts';
import { newBucket } from './server.ts';

/** The cases that store, read, list, count, sweep or erase artifacts. */
export const BYTE_CASES: readonly ConformanceCase[] = ALL_CASES.filter(({ id }) =>
  /artifact|admin|tenant|session|erase/.test(id),
);

/** Opens SQLite with the bytes elsewhere. */
export function openWithBytes(bytes: () => ByteStore): Promise<StoreUnderTest> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-s3-kit-'));
  const openEngine = () => sqliteStore({ path: join(folder, 'store.db'), timeoutMs: 20_000 });
  return openOver(openEngine, bytes, () => rmSync(folder, { recursive: true }));
}

/** Opens an engine with the bytes in a byte store. Every handle has its own byte store, like another process. */
async function openOver(
  openEngine: () => Promise<Store>,
  bytes: () => ByteStore,
  dispose: () => void = () => {},
): Promise<StoreUnderTest> {
  const open = async (): Promise<Store> => withArtifactBytes(await openEngine(), bytes())!;
  const under: StoreUnderTest = {
    store: await open(),
    peer: open,
    reopen: async () => {
      await under.store.close();
      return open();
    },
    dispose,
  };
  return under;
}

/** The engines that hold the references. Each call opens a separate part of the server. */
const ENGINES = {
  postgres: (url: string) => {
    const schema = `s3_${crypto.randomUUID().slice(0, 8)}`;
    return () => postgresStore({ url, schema, timeoutMs: 20_000 });
  },
  redis: (url: string) => {
    const prefix = `s3-${crypto.randomUUID()}`;
    return () => redisStore({ url, prefix, timeoutMs: 20_000 });
  },
  nats: (url: string) => {
    const prefix = `s3_${crypto.randomUUID().slice(0, 8)}`;
    return () => natsStore({ url, prefix, timeoutMs: 20_000 });
  },
};

interface Setting {
  version: string;
  openUnderTest(): Promise<StoreUnderTest>;
  stop(): Promise<void>;
}

async function startSetting(name: keyof typeof ENGINES | 'sqlite'): Promise<Setting> {
  const servers = await startServers(name === 'sqlite' ? ['s3'] : ['s3', name]);
  announce(servers);
  const options = await newBucket();
  const bytes = () => s3Bytes(options);
  const openUnderTest = () =>
    name === 'sqlite' ? openWithBytes(bytes) : openOver(ENGINES[name](servers[name]!.url), bytes);
  const stop = async () => {
    await stopServers(servers);
    revoke(servers);
  };
  return { version: servers[name === 'sqlite' ? 's3' : name]!.version, openUnderTest, stop };
}

/** The setups on which `npm run test:matrix` runs these cases. */
export const SETTINGS: Record<string, () => Promise<Setting>> = {
  'SQLite with bytes in Ceph': () => startSetting('sqlite'),
  'PostgreSQL with bytes in Ceph': () => startSetting('postgres'),
  'Redis with bytes in Ceph': () => startSetting('redis'),
  'NATS with bytes in Ceph': () => startSetting('nats'),
};
