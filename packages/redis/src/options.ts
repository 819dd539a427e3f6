/** What the Redis store can be told, with the default of each option and what it costs. */
import type { ConnectionOptions } from 'node:tls';
import { invalidArgument, type StoreOptions } from '@tidemark/core';
import { checkInteger, type UrlReadings, withUrlOptions } from '@tidemark/core/engine';

export interface RedisOptions extends StoreOptions {
  /**
   * `redis://user:password@host:port/database`, or `rediss:` for TLS. Of a Cluster any nodes, parted by commas, or one node
   * and `?cluster=1`; the others are found through them. Options below may stand in its query: `?prefix=app&waitReplicas=1`.
   */
  url: string;
  /** What Node's `tls.connect` is told with `rediss:`: an authority of your own (`ca`), a certificate to log in with (`cert` and `key`). */
  tls?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'servername' | 'minVersion'>;
  /** What all keys begin with; several stores can share a server. Default `tidemark`. */
  prefix?: string;
  /** Into how many Cluster slots everything is divided; decided when the store is first opened. Default 16. */
  buckets?: number;
  /**
   * How many replicas must have a write before it is acknowledged (`WAIT`); with fewer it is `OUTCOME_UNKNOWN`. Costs a
   * round trip between the servers, shared by the writes of a moment. Default 0.
   */
  waitReplicas?: number;
  /** How long to wait for them. Default 1 000 ms. */
  waitReplicasMs?: number;
  /**
   * Gives a store that was made by version 0.1 the newest format, in which records carry checksums. Versions that do not know it
   * refuse the store from then on: stop their processes first. Default false.
   */
  upgrade?: boolean;
  /** How long to wait for a connection. Default 5 000 ms. */
  connectionTimeoutMs?: number;
  /** `require` refuses servers on which an acknowledged write could be lost in a power cut (GEN-9). */
  durability?: 'require';
}

/** Where a server is, and how one logs in there. */
export interface Address {
  host: string;
  port: number;
}

/** The options, checked, with everything the URL says. */
export interface Settings {
  nodes: Address[];
  cluster: boolean;
  /** `null` without encryption. */
  tls: NonNullable<RedisOptions['tls']> | null;
  username: string | undefined;
  password: string | undefined;
  database: number;
  prefix: string;
  buckets: number | undefined;
  upgrade: boolean;
  waitReplicas: number;
  waitReplicasMs: number;
  connectionTimeoutMs: number;
  /** A connection that owes an answer for this long is given up. */
  silentAfterMs: number;
}

const DEFAULT_PORT = 6379;
const URL_RULE = 'a URL such as redis://localhost:6379, or redis://a:7000,b:7000 for a Cluster';

/** What may also stand in the query of the URL. */
const URL_OPTIONS: UrlReadings = {
  prefix: 'text',
  buckets: 'number',
  waitReplicas: 'number',
  waitReplicasMs: 'number',
  connectionTimeoutMs: 'number',
  upgrade: 'switch',
};

export function settingsOf(given: RedisOptions, timeoutMs: number): Settings {
  const options = withUrlOptions(given, URL_OPTIONS, ['cluster']);
  const {
    prefix = 'tidemark',
    waitReplicas = 0,
    waitReplicasMs = 1_000,
    connectionTimeoutMs = 5_000,
    buckets,
    upgrade = false,
  } = options;
  if (typeof prefix !== 'string' || !/^[A-Za-z0-9_.-]{1,64}$/.test(prefix))
    throw invalidArgument('prefix', '1 to 64 letters, digits, dots, dashes and underscores', prefix);
  const { isEncrypted, ...parts } = partsOf(options.url);
  if (options.tls && !isEncrypted) throw invalidArgument('tls', 'used with a URL that begins with rediss:');
  return {
    ...parts,
    tls: isEncrypted ? { ...options.tls } : null,
    prefix,
    buckets: buckets === undefined ? undefined : checkInteger(buckets, 'buckets', 1, 1_024),
    upgrade,
    waitReplicas: checkInteger(waitReplicas, 'waitReplicas', 0),
    waitReplicasMs: checkInteger(waitReplicasMs, 'waitReplicasMs', 1),
    connectionTimeoutMs: checkInteger(connectionTimeoutMs, 'connectionTimeoutMs', 1),
    silentAfterMs: timeoutMs + 1_000,
  };
}

type UrlParts = Pick<Settings, 'nodes' | 'cluster' | 'username' | 'password' | 'database'> & { isEncrypted: boolean };

function partsOf(url: unknown): UrlParts {
  const match = typeof url === 'string' ? /^(rediss?):\/\/(?:([^@/]*)@)?([^/?#]*)(.*)$/.exec(url) : null;
  if (!match) throw invalidArgument('url', URL_RULE);
  const [, scheme, login, hosts, rest] = match;
  const tail = URL.parse(`redis://host${rest}`);
  const database = Number(tail?.pathname.slice(1) || '0');
  if (!tail || !Number.isInteger(database))
    throw invalidArgument('url', 'a URL whose path is the number of a database');
  const nodes = (hosts || 'localhost').split(',').map(addressOf);
  const cluster = nodes.length > 1 || ['1', 'true'].includes(tail.searchParams.get('cluster') ?? '');
  if (cluster && database !== 0) throw invalidArgument('url', 'a URL without a database: a Cluster has only one');
  return { nodes, cluster, isEncrypted: scheme === 'rediss', database, ...loginOf(login) };
}

function addressOf(text: string): Address {
  const node = URL.parse(`redis://${text}`);
  if (!node?.hostname) throw invalidArgument('url', URL_RULE);
  return { host: node.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(node.port || DEFAULT_PORT) };
}

function loginOf(login: string | undefined): Pick<Settings, 'username' | 'password'> {
  if (!login) return { username: undefined, password: undefined };
  const cut = login.indexOf(':');
  const [username, password] = cut === -1 ? [login, ''] : [login.slice(0, cut), login.slice(cut + 1)];
  try {
    return { username: decodeURIComponent(username) || undefined, password: decodeURIComponent(password) || undefined };
  } catch {
    throw invalidArgument('url', 'free of broken percent escapes: write a percent sign as %25');
  }
}
