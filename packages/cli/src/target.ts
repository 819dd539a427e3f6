/** Opens the configured store. Commands that only read never create one. */
import { existsSync } from 'node:fs';
import { memoryStore, type Store, type StoreOptions, withRetries } from '@tidemark/core';
import { open } from 'tidemark';
import { AdvisedError } from './failures.ts';
import { DEFAULT_STORE, type Settings } from './settings.ts';

/** How long to retry a call after a transient failure. */
const RETRIED_FOR_MS = 5_000;

export interface OpenTarget {
  /** The command only reads. */
  readsOnly: boolean;
  /** Whether to fail when the store is missing, instead of using an empty store. */
  mustExist: boolean;
  withoutRetries: boolean;
  note(text: string): Promise<void>;
  upgrade?: boolean | undefined;
  onAlert?: StoreOptions['onAlert'];
}

export async function openTarget(settings: Settings, target: OpenTarget): Promise<Store> {
  const { store: url, timeoutMs } = settings;
  const file = sqliteFile(url);
  if (file !== undefined && (target.readsOnly || target.mustExist) && !existsSync(file)) {
    if (url !== DEFAULT_STORE || target.mustExist)
      throw new AdvisedError(
        'Check the path. A command that writes, such as `tidemark demo`, creates the file.',
        'NOT_FOUND',
        `The database file ${file} does not exist (from ${settings.storeFrom})`,
      );
    await target.note(`There is no store at ${file} yet; \`tidemark demo\` creates one, --store selects another.`);
    return memoryStore();
  }
  const store = await openUrl(url, settings, target);
  return target.withoutRetries ? store : withRetries(store, { deadline: timeoutMs ?? RETRIED_FOR_MS });
}

/** Opens a store by its URL. Sends the token only to servers. */
export async function openUrl(
  url: string,
  settings: Pick<Settings, 'timeoutMs' | 'token' | 'artifacts'>,
  { upgrade, onAlert }: Pick<OpenTarget, 'upgrade' | 'onAlert'> = {},
): Promise<Store> {
  const { timeoutMs, token, artifacts } = settings;
  return open(url, {
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    ...(upgrade && { upgrade }),
    ...(onAlert === undefined || /^https?:/.test(url) ? {} : { onAlert }),
    // The byte store is not passed to a server, because a server opens the byte store of its artifacts itself.
    ...(artifacts === undefined || /^https?:/.test(url) ? {} : { artifacts }),
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
