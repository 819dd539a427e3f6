/** `open`: a store by URL, by nothing at all, or composed of several. */
import { invalidArgument, type Store } from '@tidemark/core';
import { composeStores, PARTS, type PartName, type Parts } from './compose.ts';
import { type OpenOptions, openSqlite, openUrl } from './drivers.ts';

/** Where the store is when nobody says. */
export const DEFAULT_PATH = '.tidemark/state.db';

/** URLs, or stores that are open already, for the parts of a composed store; `default` serves the rest. */
export type Composition = { default: string | Store } & Partial<Record<PartName, string | Store>>;

/**
 * Opens a store.
 *
 * @example
 * const store = await open();                        // a SQLite file in ./.tidemark/state.db
 * const store = await open('sqlite:app.db');
 * const store = await open({ default: 'sqlite:app.db', pauses: 'memory:' });
 */
export async function open(target?: string | Composition, options: OpenOptions = {}): Promise<Store> {
  if (target === undefined) return openSqlite(DEFAULT_PATH, options);
  if (typeof target === 'string') return openUrl(target, options);
  return openComposition(target, options);
}

async function openComposition(target: Composition, options: OpenOptions): Promise<Store> {
  if (typeof target !== 'object' || target === null || !('default' in target)) {
    throw invalidArgument(
      'url',
      'a URL, or an object with one under `default` and others under the parts they serve',
      target,
    );
  }
  const unknown = Object.keys(target).find(
    (part) => part !== 'default' && !(PARTS as readonly string[]).includes(part),
  );
  if (unknown !== undefined) throw invalidArgument(unknown, `one of default, ${PARTS.join(', ')}`);
  const opened = new Map<string, Store>();
  try {
    const parts: Partial<Record<PartName | 'default', Store>> = {};
    for (const [part, where] of Object.entries(target) as [PartName | 'default', string | Store][]) {
      parts[part] = typeof where === 'string' ? await openOnce(opened, where, options) : where;
    }
    return composeStores(parts as Parts, options);
  } catch (error) {
    await Promise.allSettled([...opened.values()].map((store) => store.close()));
    throw error;
  }
}

/** The same URL twice is one store. */
async function openOnce(opened: Map<string, Store>, url: string, options: OpenOptions): Promise<Store> {
  const known = opened.get(url);
  if (known) return known;
  const store = await openUrl(url, options);
  opened.set(url, store);
  return store;
}
