/** Key-value libraries, also as stores of memory states, through their public API. */
import type { KvContender, MemoryContender } from './kinds.ts';
import { load } from './kinds.ts';

/** A library that stores strings and JSON objects by key. */
interface Values {
  name: string;
  set(key: string, value: unknown): Promise<unknown>;
  get(key: string): Promise<unknown>;
  close(): Promise<unknown>;
}

const asMemory = ({ name, set, get, close }: Values): MemoryContender => ({ name, save: set, load: get, close });

interface KeyvModule {
  default: new (options: {
    store: unknown;
  }) => {
    set(key: string, value: unknown): Promise<unknown>;
    get(key: string): Promise<unknown>;
    disconnect(): Promise<unknown>;
  };
}

type KeyvAdapter = '@keyv/postgres' | '@keyv/redis';

async function openKeyv(adapter: KeyvAdapter, url: string): Promise<Values> {
  const { default: Keyv } = await load<KeyvModule>('keyv');
  const { default: Adapter } = await load<{ default: new (url: string) => unknown }>(adapter);
  const store = new Keyv({ store: new Adapter(url) });
  return {
    name: 'keyv',
    set: (key, value) => store.set(key, value),
    get: (key) => store.get(key),
    close: () => store.disconnect(),
  };
}

export const keyv = (adapter: KeyvAdapter, url: string): Promise<KvContender> => openKeyv(adapter, url);
export const keyvMemory = async (adapter: KeyvAdapter, url: string) => asMemory(await openKeyv(adapter, url));

interface UnstorageModule {
  createStorage(options: { driver: unknown }): {
    setItem(key: string, value: unknown): Promise<unknown>;
    getItem(key: string): Promise<unknown>;
    dispose(): Promise<unknown>;
  };
}

interface Db0Module {
  createDatabase(connector: unknown): { dispose(): unknown };
}

/**
 * Returns the driver of unstorage for a URL: its Redis driver, or its SQL driver on db0's connector of the engine, whose
 * connection the caller has to close.
 */
async function unstorageDriver(url: string): Promise<{ driver: unknown; disconnect?: () => Promise<unknown> }> {
  if (url.startsWith('redis:')) {
    const { default: driver } = await load<{ default: (options: object) => unknown }>('unstorage/drivers/redis');
    return { driver: driver({ url }) };
  }
  const isSqlite = url.startsWith('sqlite:');
  const { createDatabase } = await load<Db0Module>('db0');
  const { default: connector } = await load<{ default: (options: object) => unknown }>(
    isSqlite ? 'db0/connectors/node-sqlite' : 'db0/connectors/postgresql',
  );
  const { default: driver } = await load<{ default: (options: object) => unknown }>('unstorage/drivers/db0');
  const where = isSqlite ? { path: url.slice('sqlite:'.length) } : { url: { connectionString: url } };
  const database = createDatabase(connector(where));
  return { driver: driver({ database }), disconnect: async () => database.dispose() };
}

async function openUnstorage(url: string): Promise<Values> {
  const { createStorage } = await load<UnstorageModule>('unstorage');
  const { driver, disconnect } = await unstorageDriver(url);
  const storage = createStorage({ driver });
  return {
    name: 'unstorage',
    set: (key, value) => storage.setItem(key, value),
    get: (key) => storage.getItem(key),
    async close() {
      await storage.dispose();
      await disconnect?.();
    },
  };
}

export const unstorage = (url: string): Promise<KvContender> => openUnstorage(url);
export const unstorageMemory = async (url: string) => asMemory(await openUnstorage(url));
