/** The DynamoDB store: all domains on two tables. */
import type { Store } from '@tidemark/core';
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
} from '@tidemark/core/engine';
import { DynamoDbBlobs } from './blobs.ts';
import { Client, type Meter } from './client.ts';
import { examine } from './doctor.ts';
import { translate } from './errors.ts';
import { Hints } from './hints.ts';
import { DynamoDbJournal } from './journal.ts';
import { type DynamoDbOptions, readSettings, type Settings } from './options.ts';
import { DynamoDbRecords } from './records.ts';
import { createTables, readFormat, type StoreFormat } from './tables.ts';

/** The time limit for opening a store, during which tables may be created. */
const OPEN_WITHIN_MS = 30_000;

/**
 * Opens a store on two tables of Amazon DynamoDB.
 *
 * @throws `INVALID_ARGUMENT` for an invalid option, `SCHEMA_MISMATCH` when the tables do not exist or have another
 *   layout, `UNAVAILABLE` when DynamoDB cannot be reached.
 * @example
 * ```ts
 * const store = await dynamodbStore('dynamodb://eu-west-1/app');
 * await store.runs.handle('order-42').append('RunStarted');
 * await store.close();
 * ```
 */
export async function dynamodbStore(options: string | DynamoDbOptions): Promise<Store> {
  return openMetered(typeof options === 'string' ? { url: options } : options);
}

/**
 * Opens a store by URL, for `open('dynamodb://…')`.
 *
 * @example
 * import { openUrl } from '@tidemark/dynamodb';
 *
 * const store = await openUrl('dynamodb://eu-west-1/app', {});
 */
export function openUrl(url: string, options: Omit<DynamoDbOptions, 'url'>): Promise<Store> {
  return dynamodbStore({ ...options, url });
}

/** Opens a store that reports the cost of its requests. */
export async function openMetered(options: DynamoDbOptions, meter?: Meter): Promise<Store> {
  const context = new StoreContext(options);
  const settings = readSettings(options);
  const client = await Client.open(settings, meter);
  try {
    const call = { deadline: Date.now() + OPEN_WITHIN_MS };
    if (settings.createTables || options.upgrade) await createTables(client);
    return assemble(context, client, settings, await readFormat(client, settings.shards, call));
  } catch (error) {
    client.close();
    throw translate(error);
  }
}

function assemble(context: StoreContext, client: Client, { shards }: Settings, format: StoreFormat): Store {
  const hints = new Hints();
  const { clock } = context;
  const journal = new DynamoDbJournal({ client, hints, clock, shards: format.shards });
  const records = new DynamoDbRecords({ client, hints, clock });
  const blobs = new DynamoDbBlobs({ client, clock });
  const marker = new ChainMarker(format.chain, async () => {
    return (await readFormat(client, shards, { deadline: Date.now() + context.timeoutMs })).chain;
  });
  const runs = new KeyedRuns(journal, records, marker.current);
  const artifacts = keyedArtifacts(context, records, blobs);
  const cleaner = new Cleaner([
    artifactSweep(artifacts, clock),
    (call) => blobs.removeStaged(call),
    expirySweep(runs, context.expiry),
  ]);
  return assembleStore(context, {
    backend: 'dynamodb',
    version: '2012-08-10',
    clock: 'process',
    can: {
      'runs.denseSequences': true,
      'runs.feed': true,
      'runs.redaction': true,
      'kv.watch': true,
      'kv.atomicBatch': true,
      reopen: true,
    },
    durability: () => (client.isEmulated ? 'unknown' : 'node-loss'),
    chainFormat: marker.current,
    runs,
    kv: records,
    agents: keyedAgents(journal, records, context),
    artifacts,
    tenancy: keyedTenancy(journal, records, blobs, artifacts, runs),
    ping: async (call) => {
      await readFormat(client, shards, call);
    },
    doctor: (call) => examine(client, call),
    close: async () => {
      await cleaner.stop();
      client.close();
    },
  });
}
