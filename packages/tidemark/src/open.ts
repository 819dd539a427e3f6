/** Implements `open`, which opens a store by URL, at the default path, or composed of several stores. */
import { invalidArgument, type Store } from '@tidemark/core';
import { type ArtifactOptions, keepBytesIn, notOverHttp, splitArtifacts } from './artifact-bytes.ts';
import { composeStores, PARTS, type PartName, type Parts } from './compose.ts';
import { type DriverOptions, openSqlite, openUrl } from './drivers.ts';

/** The path of the SQLite file that `open()` uses. */
export const DEFAULT_PATH = '.tidemark/state.db';

/** Options of `open`. */
export interface OpenOptions extends Omit<DriverOptions, 'artifacts'> {
  /**
   * Limits of artifacts, and where their bytes are stored: `'s3://bucket/prefix'`, or
   * `{ bytes: 's3://…', ttlMs: null }`. References stay in the store. Artifacts that were stored earlier are still read from their original location.
   * Every process that uses the artifacts of a store must name the same location.
   */
  artifacts?: string | ArtifactOptions;
}

/**
 * The URL or the open store of each part of a composed store. `default` serves all other parts. `artifacts` may also name a
 * bucket, `s3://bucket/prefix`: it keeps the bytes, and `default` the references, as with the option `artifacts`.
 */
export type Composition = { default: string | Store } & Partial<Record<PartName, string | Store>>;

/**
 * Opens a store by URL: `memory:`, `sqlite:`, `postgres:`, `redis:`, `nats:` or `http:`. Without a target, opens the
 * SQLite file `.tidemark/state.db` in the current directory. An object as the target composes a store from several
 * stores: each part is served by its own URL or open store.
 *
 * Loads the driver package of the URL. Closing a composed store closes all its parts.
 *
 * @throws `DRIVER_MISSING` if the driver package is not installed; the message contains the command to install it.
 *   `INVALID_ARGUMENT` if the URL or a part is unknown. `DURABILITY_TOO_WEAK` if `durability` is `require` and the
 *   backend is too weak. `SCHEMA_MISMATCH` if a newer version wrote the data. `UNAVAILABLE` if the server cannot be
 *   reached.
 *
 * @example
 * const local = await open(); // ./.tidemark/state.db
 * const app = await open('sqlite:app.db', { durability: 'require' });
 * const composed = await open({ default: 'sqlite:main.db', kv: 'memory:', pauses: 'memory:' });
 * console.log(local.info.backend, app.info.durability, composed.info.backend); // sqlite host-crash sqlite+memory
 */
export async function open(target?: string | Composition, options: OpenOptions = {}): Promise<Store> {
  const { artifacts, ...others } = options;
  const { engines, bucket } = splitBucket(target);
  const { limits, bytes = bucket } = splitArtifacts(artifacts);
  if (bucket !== undefined && bytes !== bucket)
    throw invalidArgument('artifacts', 'named either as a part or as an option, not both');
  const driverOptions: DriverOptions = { ...others, ...(limits && { artifacts: limits }) };
  const openEngine = () => openTarget(engines, driverOptions);
  if (bytes === undefined) return openEngine();
  if (typeof target === 'string' && /^https?:/.test(target)) throw notOverHttp();
  return keepBytesIn(bytes, openEngine);
}

/** Separates a bucket for the bytes of artifacts from the parts that engines serve. */
function splitBucket(target: string | Composition | undefined): {
  engines: string | Composition | undefined;
  bucket?: string;
} {
  if (typeof target !== 'object' || target === null) return { engines: target };
  const { artifacts, ...engines } = target;
  if (typeof artifacts !== 'string' || !artifacts.startsWith('s3:')) return { engines: target };
  return { engines: engines as Composition, bucket: artifacts };
}

async function openTarget(target: string | Composition | undefined, options: DriverOptions): Promise<Store> {
  if (target === undefined) return openSqlite(DEFAULT_PATH, options);
  if (typeof target === 'string') return openUrl(target, options);
  return openComposition(target, options);
}

async function openComposition(target: Composition, options: DriverOptions): Promise<Store> {
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

/** Opens each URL once, even if several parts use it. */
async function openOnce(opened: Map<string, Store>, url: string, options: DriverOptions): Promise<Store> {
  const known = opened.get(url);
  if (known) return known;
  const store = await openUrl(url, options);
  opened.set(url, store);
  return store;
}
