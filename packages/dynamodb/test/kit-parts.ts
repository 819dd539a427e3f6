/** Opens stores under test, each on its own tables. Also used outside tests. */
import type { StoreUnderTest } from '@tidemark/conformance';
import type { RecordName } from '@tidemark/core/engine';
import { dynamodb } from '../../../scripts/servers/dynamodb.ts';
import { startKind } from '../../../scripts/servers/index.ts';
import { Client, type Item } from '../src/client.ts';
import { type DynamoDbOptions, dynamodbStore } from '../src/index.ts';
import { readSettings } from '../src/options.ts';
import { nameOfField, recordKey } from '../src/records/record-item.ts';
import { ALL_FAULTS, randomFaults, startFaultProxy } from './fault-proxy.ts';
import { ownTables } from './servers.ts';

interface Setting {
  url: string;
  version: string;
  stop(): Promise<void>;
}

export async function openUnderTest(url: string): Promise<StoreUnderTest> {
  // Two processes share two cores: slow answers are not the faults that this test looks for.
  const options = { ...ownTables(url), timeoutMs: 20_000, requestTimeoutMs: 10_000 };
  const under: StoreUnderTest = {
    store: await dynamodbStore(options),
    peer: () => dynamodbStore(options),
    reopen: async () => {
      await under.store.close();
      return dynamodbStore(options);
    },
    damage: async (tenantId, key, field) => {
      await changeItem(options, { space: 'kv', tenantId, key }, (item) => {
        const stored = item.f!.M![nameOfField(field)]!.B!;
        stored[stored.length - 1]! ^= 1;
      });
    },
  };
  return under;
}

/** Changes the item of a record without the store, as a failing disk would. */
export async function changeItem(
  options: DynamoDbOptions,
  name: RecordName,
  change: (item: Item) => void,
): Promise<void> {
  const client = await Client.open(readSettings(options));
  const item = await client.get('records', recordKey(name), {});
  change(item!);
  await client.putAll('records', [item!], {});
  client.close();
}

/**
 * All faults except slow replies. During a slow reply, others may write to a record more often than its history is
 * long, and a caller without a request id then cannot determine the outcome. `faults.test.ts` covers slow replies.
 */
export const KIT_FAULTS = ALL_FAULTS.filter((fault) => fault !== 'slow');
/** The share of requests that the proxy disturbs. */
const FAULTS = 0.05;
const SEED = 11;

/** The setups on which `npm run test:matrix` runs the kit. */
export const SETTINGS: Record<string, () => Promise<Setting>> = {
  'DynamoDB, emulated by dynoxide': () => startKind(dynamodb),
  'DynamoDB, emulated by dynoxide behind a faulty network': async () => {
    const { url, version, stop } = await startKind(dynamodb);
    const proxy = await startFaultProxy(url, randomFaults(SEED, FAULTS, KIT_FAULTS));
    return { url: proxy.url, version, stop: () => proxy.stop().finally(stop) };
  },
};
