/** Opens stores under test under their own prefix, and the servers they run on. Also used outside tests. */
import { randomUUID } from 'node:crypto';
import { createClient } from '@redis/client';
import type { StoreUnderTest } from '@tidemark/conformance';
import { startKind } from '../../../scripts/servers/index.ts';
import type { ServerKind } from '../../../scripts/servers/kind.ts';
import { redis } from '../../../scripts/servers/redis.ts';
import { startRedisCluster } from '../../../scripts/servers/redis-cluster.ts';
import { valkey } from '../../../scripts/servers/valkey.ts';
import { redisStore } from '../src/index.ts';
import { Layout, tagOf } from '../src/layout.ts';
import { DEFAULT_BUCKETS } from '../src/store-format.ts';

export async function openUnderTest(url: string): Promise<StoreUnderTest> {
  // Two processes share two cores: slow answers are not the faults that this test looks for.
  const options = { url, prefix: `kit-${randomUUID()}`, timeoutMs: 20_000 };
  const under: StoreUnderTest = {
    store: await redisStore(options),
    peer: () => redisStore(options),
    reopen: async () => {
      await under.store.close();
      return redisStore(options);
    },
  };
  // Skipped for a Cluster, where the value is on one of several servers.
  if (!url.includes(',')) under.damage = (...field) => damage(options, ...field);
  return under;
}

/** Creates an empty store of the first format, whose records carry no checksums. */
export async function makeFormatOne(url: string, prefix: string): Promise<void> {
  const client = await createClient({ url }).connect();
  await client.hSet(`${tagOf(prefix, 0)}store`, 'format', '1');
  client.destroy();
}

/** Changes a stored value as a failing disk would. */
async function damage(
  at: { url: string; prefix: string },
  tenantId: string,
  key: string,
  field: string,
): Promise<void> {
  const layout = new Layout(at.prefix, DEFAULT_BUCKETS);
  const name = { space: 'kv', tenantId, key } as const;
  const client = await createClient({ url: at.url }).connect();
  await client.hSet(layout.record(name), field, 'changed');
  client.destroy();
}

interface Setting {
  url: string;
  version: string;
  stop(): Promise<void>;
}

async function clusterOf(kind: ServerKind): Promise<Setting> {
  const cluster = await startRedisCluster({ kind });
  return { url: cluster.url, version: cluster.nodes[0]!.version, stop: () => cluster.stop() };
}

/** The setups on which `npm run test:matrix` runs the kit. */
export const SETTINGS: Record<string, () => Promise<Setting>> = {
  'Redis 7, one server': () => startKind(redis),
  'Redis 7, Cluster of three masters': () => clusterOf(redis),
  'Valkey 8, one server': async () => startKind(await valkey()),
  'Valkey 8, Cluster of three masters': async () => clusterOf(await valkey()),
};
