/** Maps URLs to driver packages. Each is loaded when its URL is opened. */

import { invalidArgument, memoryStore, type Store, type StoreOptions, TidemarkError } from '@tidemark/core';
import { shownUrl } from '@tidemark/core/engine';

/** Options of `open`. */
export interface OpenOptions extends StoreOptions {
  /** `require` fails with `DURABILITY_TOO_WEAK` if an acknowledged write could be lost in a power cut. */
  durability?: 'require';
}

type OpenUrl = (url: string, options: OpenOptions) => Promise<Store>;

/** The exports of a driver package that `open` uses. */
interface DriverModule {
  openUrl: OpenUrl;
}

const PACKAGES: Record<string, string> = {
  postgres: '@tidemark/postgres',
  postgresql: '@tidemark/postgres',
  redis: '@tidemark/redis',
  rediss: '@tidemark/redis',
  nats: '@tidemark/nats',
  http: '@tidemark/client',
  https: '@tidemark/client',
};

/** The schemes of the URLs that `open` takes. */
export const STORE_SCHEMES: readonly string[] = ['memory', 'sqlite', ...Object.keys(PACKAGES)];

/** Opens a store by URL. */
export async function openUrl(url: string, options: OpenOptions): Promise<Store> {
  const scheme = /^([a-z]+):/.exec(url)?.[1];
  if (scheme === 'memory') return openMemory(options);
  if (scheme === 'sqlite') return openSqlite(sqlitePath(url), options);
  const name = scheme === undefined ? undefined : PACKAGES[scheme];
  if (name === undefined)
    throw invalidArgument(
      'url',
      `a URL that starts with ${STORE_SCHEMES.map((it) => `${it}:`).join(', ')}`,
      shownUrl(url),
    );
  const driver = await loadDriver(name, scheme!);
  return driver.openUrl(url, options);
}

export async function openSqlite(path: string, options: OpenOptions): Promise<Store> {
  const { sqliteStore } = await import('@tidemark/sqlite');
  return sqliteStore({ ...options, path });
}

function openMemory(options: OpenOptions): Store {
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
  if (path === '' || path.startsWith('//')) throw invalidArgument('url', 'sqlite: followed by the name of a file', url);
  return path;
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    throw invalidArgument('url', 'free of broken percent escapes: write a percent sign as %25', text);
  }
}

async function loadDriver(name: string, scheme: string): Promise<DriverModule> {
  try {
    return (await import(name)) as DriverModule;
  } catch (cause) {
    const missing = (cause as { code?: string }).code === 'ERR_MODULE_NOT_FOUND' && String(cause).includes(`'${name}'`);
    if (!missing) throw cause;
    throw new TidemarkError(
      'DRIVER_MISSING',
      `${scheme}: needs the package ${name}; install it with: npm install ${name}`,
      { cause },
    );
  }
}
