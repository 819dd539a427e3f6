/** The Redis store: all domains on one server, a replicated server, or a Cluster. Also on Valkey. */
import type { Durability, Store } from '@tidemark/core';
import {
  artifactSweep,
  assembleStore,
  ChainMarker,
  Cleaner,
  expirySweep,
  KeyedRuns,
  keyedAgents,
  keyedArtifacts,
  keyedTenancy,
  StoreContext,
  sweeping,
} from '@tidemark/core/engine';
import { redisBlobs } from './blobs.ts';
import { Cluster } from './cluster.ts';
import { Commands } from './commands.ts';
import { examine } from './doctor.ts';
import { IndexCheck } from './doctor-indexes.ts';
import { durabilityOf, requireDurability } from './durability.ts';
import { translate } from './errors.ts';
import { trimFeeds } from './feed-trimming.ts';
import { Hints } from './hints.ts';
import { redisJournal } from './journal.ts';
import { Layout, tagOf } from './layout.ts';
import { type RedisOptions, readSettings, type Settings } from './options.ts';
import { redisRecords } from './records.ts';
import { readVersion } from './server-facts.ts';
import { type Servers, SingleServer } from './servers.ts';
import { readChainFormat, readFormat, type StoreFormat } from './store-format.ts';

/**
 * Opens a store on Redis 7 or newer, or on Valkey.
 *
 * @throws `INVALID_ARGUMENT` for an invalid option, `UNAVAILABLE` when the server cannot be reached,
 *   `SCHEMA_MISMATCH` for a store of another format, `DURABILITY_TOO_WEAK` under `durability: 'require'`.
 * @example
 * ```ts
 * const store = await redisStore('redis://localhost:6379');
 * await store.runs.handle('order-42').append('RunStarted');
 * await store.close();
 * ```
 */
export async function redisStore(options: string | RedisOptions): Promise<Store> {
  const given = typeof options === 'string' ? { url: options } : options;
  const context = new StoreContext(given);
  const settings = readSettings(given, context.timeoutMs);
  try {
    const servers = settings.cluster ? await Cluster.open(settings) : await SingleServer.open(settings);
    try {
      const commands = new Commands(servers, settings);
      if (servers instanceof Cluster) await servers.divide([tagOf(settings.prefix, 0)]);
      const format = await readFormat(commands, settings);
      const { buckets } = format;
      const tags = Array.from({ length: buckets }, (_, bucket) => tagOf(settings.prefix, bucket));
      if (servers instanceof Cluster) await servers.divide(tags);
      if (given.durability === 'require') await requireDurability(servers, settings);
      return await assemble(context, servers, commands, new Layout(settings.prefix, buckets), settings, format);
    } catch (error) {
      servers.close();
      throw error;
    }
  } catch (error) {
    throw translate(error, 'read');
  }
}

/**
 * Opens a store by URL, for `open('redis://…')`.
 *
 * @example
 * import { openUrl } from '@tidemark/redis';
 *
 * const store = await openUrl('redis://localhost:6379', {});
 */
export function openUrl(url: string, options: Omit<RedisOptions, 'url'>): Promise<Store> {
  return redisStore({ ...options, url });
}

async function assemble(
  context: StoreContext,
  servers: Servers,
  commands: Commands,
  layout: Layout,
  settings: Settings,
  { sums, chain }: StoreFormat,
): Promise<Store> {
  const hints = new Hints(commands, settings, () => servers.masters().map(({ address }) => address));
  const journal = redisJournal({ commands, layout, hints });
  const records = redisRecords({ commands, layout, hints, sums, oneServer: !settings.cluster });
  const blobs = redisBlobs(commands, layout);
  const marker = new ChainMarker(chain, () => readChainFormat(commands, settings));
  const runs = new KeyedRuns(journal, records, marker.current);
  const artifacts = keyedArtifacts(context, records, blobs);
  const cleaner = new Cleaner([
    (call, limit) => records.removeExpired(limit, call),
    artifactSweep(artifacts, context.clock),
    expirySweep(runs, context.expiry),
    sweeping((call) => trimFeeds(commands, layout, call)),
  ]);
  let durability: Durability = await durabilityOf(servers, settings);
  return assembleStore(context, {
    backend: 'redis',
    version: await readVersion(servers),
    clock: 'server',
    can: {
      'runs.denseSequences': true,
      'runs.feed': true,
      'runs.redaction': true,
      'runs.notices': true,
      'kv.watch': true,
      'kv.atomicBatch': !settings.cluster,
      reopen: true,
    },
    durability: () => durability,
    chainFormat: marker.current,
    runs,
    kv: records,
    agents: keyedAgents(journal, records, context),
    artifacts,
    tenancy: keyedTenancy(journal, records, blobs, artifacts, runs),
    // Pings every bucket, because each may be on another connection or server.
    ping: async (call) => {
      await Promise.all(Array.from({ length: layout.buckets }, (_, bucket) => commands.read(bucket, ['PING'], call)));
    },
    doctor: async () => {
      durability = await durabilityOf(servers, settings);
      return { durability, findings: await examine(servers, settings) };
    },
    examineStorage: async (tenantId) => [await new IndexCheck(servers, commands, layout).run(tenantId)],
    close: async () => {
      await cleaner.stop();
      await commands.drain();
      hints.close();
      servers.close();
    },
  });
}
