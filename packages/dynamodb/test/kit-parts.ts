/** Opens stores under test on tables of their own. Also used outside tests. */
import type { StoreUnderTest } from '@tidemark/conformance';
import { dynamodb } from '../../../scripts/servers/dynamodb.ts';
import { startKind } from '../../../scripts/servers/index.ts';
import { dynamodbStore } from '../src/index.ts';
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
  };
  return under;
}

/** The share of requests that the proxy disturbs. */
const FAULTS = 0.05;
const SEED = 11;

/** The setups on which `npm run test:matrix` runs the kit. */
export const SETTINGS: Record<string, () => Promise<Setting>> = {
  'DynamoDB, emulated by dynoxide': () => startKind(dynamodb),
  'DynamoDB, emulated by dynoxide behind a faulty network': async () => {
    const { url, version, stop } = await startKind(dynamodb);
    const proxy = await startFaultProxy(url, randomFaults(SEED, FAULTS, ALL_FAULTS));
    return { url: proxy.url, version, stop: () => proxy.stop().finally(stop) };
  },
};
