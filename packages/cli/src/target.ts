/** Opens the store that the settings name. Looking at a store never makes one. */
import { existsSync } from 'node:fs';
import { memoryStore, type Store, type StoreOptions, TidemarkError, withRetries } from '@tidemark/core';
import { open } from 'tidemark';
import { DEFAULT_STORE, type Settings } from './settings.ts';

/** How long a call that fails for the moment is made again. */
const RETRIED_FOR_MS = 5_000;

export interface OpenTarget {
  /** The command only reads. */
  readsOnly: boolean;
  /** An empty store in place of a missing one will not do. */
  mustExist: boolean;
  isPlain: boolean;
  note(text: string): Promise<void>;
  onAlert?: StoreOptions['onAlert'];
}

export async function openTarget(settings: Settings, target: OpenTarget): Promise<Store> {
  const { store: url, timeoutMs } = settings;
  const file = sqliteFile(url);
  if (file !== undefined && (target.readsOnly || target.mustExist) && !existsSync(file)) {
    if (url !== DEFAULT_STORE || target.mustExist)
      throw new TidemarkError('NOT_FOUND', `There is no store at ${file} (named by ${settings.storeFrom})`);
    await target.note(`There is no store at ${file} yet; \`tidemark demo\` makes one, --store names another.`);
    return memoryStore();
  }
  const store = await openUrl(url, settings, target.onAlert);
  return target.isPlain ? store : withRetries(store, { deadline: timeoutMs ?? RETRIED_FOR_MS });
}

/** Opens a store by its URL; the token goes to servers only. */
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

/** The file of a SQLite URL. */
export function sqliteFile(url: string): string | undefined {
  if (!url.startsWith('sqlite:')) return undefined;
  const path = url.slice('sqlite:'.length).replace(/^\/\/(?=\/)/, '');
  try {
    return decodeURIComponent(path);
  } catch {
    return undefined;
  }
}
