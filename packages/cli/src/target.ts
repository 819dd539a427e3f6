/** Opens the configured store. Commands that only read never create one. */
import { existsSync } from 'node:fs';
import { memoryStore, type Store, type StoreOptions, TidemarkError, withRetries } from '@tidemark/core';
import { open } from 'tidemark';
import { DEFAULT_STORE, type Settings } from './settings.ts';

/** How long to retry a call after a transient failure. */
const RETRIED_FOR_MS = 5_000;

export interface OpenTarget {
  /** The command only reads. */
  readsOnly: boolean;
  /** Fails when the store is missing, instead of using an empty one. */
  mustExist: boolean;
  withoutRetries: boolean;
  note(text: string): Promise<void>;
  onAlert?: StoreOptions['onAlert'];
}

export async function openTarget(settings: Settings, target: OpenTarget): Promise<Store> {
  const { store: url, timeoutMs } = settings;
  const file = sqliteFile(url);
  if (file !== undefined && (target.readsOnly || target.mustExist) && !existsSync(file)) {
    if (url !== DEFAULT_STORE || target.mustExist)
      throw new TidemarkError('NOT_FOUND', `There is no store at ${file} (from ${settings.storeFrom})`);
    await target.note(`There is no store at ${file} yet; \`tidemark demo\` creates one, --store selects another.`);
    return memoryStore();
  }
  const store = await openUrl(url, settings, target.onAlert);
  return target.withoutRetries ? store : withRetries(store, { deadline: timeoutMs ?? RETRIED_FOR_MS });
}

/** Opens a store by its URL. Sends the token only to servers. */
export async function openUrl(
  url: string,
  settings: Pick<Settings, 'timeoutMs' | 'token'>,
  onAlert?: StoreOptions['onAlert'],
): Promise<Store> {
  const { timeoutMs, token } = settings;
  return open(url, {
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(onAlert === undefined || /^https?:/.test(url) ? {} : { onAlert }),
    ...(token !== undefined && /^https?:/.test(url) ? { token } : {}),
  });
}

/** Returns the path in a SQLite URL; `undefined` for other URLs. */
export function sqliteFile(url: string): string | undefined {
  if (!url.startsWith('sqlite:')) return undefined;
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
