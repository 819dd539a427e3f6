/** Maps URLs to driver packages. A package is loaded only when a URL of its scheme is opened. */

import { invalidArgument, memoryStore, type Store, type StoreOptions, TidemarkError } from '@tidemark/core';
import { invalidUrl, missingPackage, shownUrl } from '@tidemark/core/engine';

/** Options of every driver. */
export interface DriverOptions extends StoreOptions {
  /** `require` fails with `DURABILITY_TOO_WEAK` if an acknowledged write could be lost in a power failure. */
  durability?: 'require';
  /** PostgreSQL only: the names and URLs of more servers, over which the tenants are spread. */
  servers?: Readonly<Record<string, string>>;
  /**
   * With `servers`: returns the name of the server for a new tenant, where `main` is the store's own URL. By default
   * the tenants are spread evenly.
   */
  placement?: (tenantId: string) => string | undefined;
}

type OpenUrl = (url: string, options: DriverOptions) => Promise<Store>;

/** The exports of a driver package that `open` uses. */
interface DriverModule {
  openUrl: OpenUrl;
}

/** Loads the driver for a scheme. The scheme is named in errors. */
type LoadDriver = (scheme: string) => Promise<DriverModule>;

// Each import is literal and directly inside its own `try`, so that bundlers follow it if the package is installed, and
// ignore it otherwise.

const postgres: LoadDriver = async (scheme) => {
  try {
    return await import('@tidemark/postgres');
  } catch (cause) {
    throw missingPackage(cause, '@tidemark/postgres', `${scheme}:`);
  }
};

const redis: LoadDriver = async (scheme) => {
  try {
    return await import('@tidemark/redis');
  } catch (cause) {
    throw missingPackage(cause, '@tidemark/redis', `${scheme}:`);
  }
};

const nats: LoadDriver = async (scheme) => {
  try {
    return await import('@tidemark/nats');
  } catch (cause) {
    throw missingPackage(cause, '@tidemark/nats', `${scheme}:`);
  }
};

const dynamodb: LoadDriver = async (scheme) => {
  try {
    return await import('@tidemark/dynamodb');
  } catch (cause) {
    throw missingPackage(cause, '@tidemark/dynamodb', `${scheme}:`);
  }
};

const http: LoadDriver = async (scheme) => {
  try {
    return await import('@tidemark/client');
  } catch (cause) {
    throw missingPackage(cause, '@tidemark/client', `${scheme}:`);
  }
};

const DRIVERS: Record<string, LoadDriver> = {
  postgres,
  postgresql: postgres,
  redis,
  rediss: redis,
  nats,
  dynamodb,
  http,
  https: http,
};

/** The schemes of the URLs that `open` accepts. */
export const STORE_SCHEMES: readonly string[] = ['memory', 'sqlite', ...Object.keys(DRIVERS)];

/** Opens a store by URL. */
export async function openUrl(url: string, options: DriverOptions): Promise<Store> {
  const scheme = /^([a-z]+):/.exec(url)?.[1];
  if (options.servers !== undefined && !/^postgres(ql)?$/.test(scheme ?? ''))
    throw invalidArgument('servers', 'absent, unless the store is on PostgreSQL');
  if (scheme === 'memory') return openMemory(options);
  if (scheme === 'sqlite') return openSqlite(sqlitePath(url), options);
  const load = scheme === undefined || !Object.hasOwn(DRIVERS, scheme) ? undefined : DRIVERS[scheme];
  if (load === undefined)
    throw invalidArgument(
      'url',
      `a URL that starts with ${STORE_SCHEMES.map((it) => `${it}:`).join(', ')}`,
      shownUrl(url),
    );
  const driver = await load(scheme!);
  return driver.openUrl(url, options);
}

export async function openSqlite(path: string, options: DriverOptions): Promise<Store> {
  const { sqliteStore } = await import('@tidemark/sqlite');
  return sqliteStore({ ...options, path });
}

function openMemory(options: DriverOptions): Store {
  if (options.durability === 'require') {
    throw new TidemarkError(
      'DURABILITY_TOO_WEAK',
      'A memory store loses everything when the process ends; open a durable one',
      { current: 'none' },
    );
  }
  return memoryStore(options);
}

/** Returns the path in `sqlite:app.db`, `sqlite:./app.db` or `sqlite:///var/lib/app.db`. Decodes percent escapes. */
function sqlitePath(url: string): string {
  const path = decodePercent(url.slice('sqlite:'.length)).replace(/^\/\/(?=\/)/, '');
  if (path === '' || path.startsWith('//')) throw invalidUrl('sqlite: followed by the name of a file', url);
  return path;
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidUrl('free of broken percent escapes: write a percent sign as %25', text);
  }
}
