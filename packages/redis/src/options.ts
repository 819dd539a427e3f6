/** The options of the Redis store. */
import type { ConnectionOptions } from 'node:tls';
import { invalidArgument, type StoreOptions } from '@tidemark/core';
import { checkInteger, type UrlReadings, withUrlOptions } from '@tidemark/core/engine';

/** Options of `redisStore`. */
export interface RedisOptions extends StoreOptions {
  /**
   * `redis://user:password@host:port/database`, or `rediss:` for TLS. For a Cluster, several nodes separated by commas,
   * or one node and `?cluster=1`; the other nodes are discovered. The query may contain most of the options below:
   * `?prefix=app&waitReplicas=1`.
   */
  url: string;
  /**
   * Options of Node's `tls.connect` for `rediss:`, such as a custom certificate authority (`ca`) or a client
   * certificate (`cert` and `key`). Default: Node's certificate authorities, and no client certificate.
   */
  tls?: Pick<ConnectionOptions, 'ca' | 'cert' | 'key' | 'passphrase' | 'servername' | 'minVersion'>;
  /** Prefix of all keys, so that several stores can share a server. Default `tidemark`. */
  prefix?: string;
  /** Number of Cluster slots over which the data is distributed. Fixed when the store is first opened. Default 16. */
  buckets?: number;
  /**
   * The number of replicas that must have received a write before the write is acknowledged (`WAIT`). If fewer confirm,
   * the write fails with `OUTCOME_UNKNOWN`. Costs a round trip between the servers, shared by concurrent writes.
   * Default 0.
   */
  waitReplicas?: number;
  /** How long to wait for replicas, in milliseconds. Default 1 000. */
  waitReplicasMs?: number;
  /** How long to wait for a connection, in milliseconds. Default 5 000. */
  connectionTimeoutMs?: number;
  /**
   * `require` makes opening fail with `DURABILITY_TOO_WEAK` on servers where a power failure could lose an acknowledged
   * write. By default the store opens anyway; `doctor` reports the weakness.
   */
  durability?: 'require';
}

/** The address of a server. */
export interface Address {
  host: string;
  port: number;
}

/** The checked options, including options from the URL. */
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
  /** The age of an unanswered command at which its connection is replaced. */
  silentAfterMs: number;
}

const DEFAULT_PORT = 6379;
const URL_RULE = 'a URL such as redis://localhost:6379, or redis://a:7000,b:7000 for a Cluster';

/** Options that may also be set in the query of the URL. */
const URL_OPTIONS: UrlReadings = {
  prefix: 'text',
  buckets: 'number',
  waitReplicas: 'number',
  waitReplicasMs: 'number',
  connectionTimeoutMs: 'number',
  upgrade: 'switch',
};

export function readSettings(given: RedisOptions, timeoutMs: number): Settings {
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
  const { isEncrypted, ...parts } = parseUrl(options.url);
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

function parseUrl(url: unknown): UrlParts {
  const match = typeof url === 'string' ? /^(rediss?):\/\/(?:([^@/]*)@)?([^/?#]*)(.*)$/.exec(url) : null;
  if (!match) throw invalidArgument('url', URL_RULE);
  const [, scheme, login, hosts, rest] = match;
  const tail = URL.parse(`redis://host${rest}`);
  const database = Number(tail?.pathname.slice(1) || '0');
  if (!tail || !Number.isInteger(database))
    throw invalidArgument('url', 'a URL whose path is the number of a database');
  const nodes = (hosts || 'localhost').split(',').map(parseAddress);
  const cluster = nodes.length > 1 || ['1', 'true'].includes(tail.searchParams.get('cluster') ?? '');
  if (cluster && database !== 0) throw invalidArgument('url', 'a URL without a database: a Cluster has only one');
  return { nodes, cluster, isEncrypted: scheme === 'rediss', database, ...parseLogin(login) };
}

function parseAddress(text: string): Address {
  const node = URL.parse(`redis://${text}`);
  if (!node?.hostname) throw invalidArgument('url', URL_RULE);
  return { host: node.hostname.replace(/^\[(.*)\]$/, '$1'), port: Number(node.port || DEFAULT_PORT) };
}

function parseLogin(login: string | undefined): Pick<Settings, 'username' | 'password'> {
  if (!login) return { username: undefined, password: undefined };
  const cut = login.indexOf(':');
  const [username, password] = cut === -1 ? [login, ''] : [login.slice(0, cut), login.slice(cut + 1)];
  try {
    return { username: decodeURIComponent(username) || undefined, password: decodeURIComponent(password) || undefined };
  } catch {
    throw invalidArgument('url', 'free of broken percent escapes: write a percent sign as %25');
  }
}
