/** The options of the NATS store. */
import type { Authenticator, TlsOptions } from '@nats-io/nats-core';
import { invalidArgument, type StoreOptions } from '@tidemark/core';
import { checkInteger, type UrlReadings } from '@tidemark/core/engine';

export interface NatsOptions extends StoreOptions {
  /**
   * `nats://user:password@host:port`. Several servers of a cluster are separated by commas. The query may contain
   * `prefix`, `replicas` and `monitoring`: `?prefix=app&replicas=3`.
   */
  url: string;
  /**
   * The start of the name of every stream and subject, so that several stores can share an account. Default `tidemark`.
   */
  prefix?: string;
  /** Number of replicas of each new stream. Default 3 in a cluster, 1 on a single server. */
  replicas?: 1 | 3 | 5;
  /** An authenticator of the driver, for logins that the URL cannot express. Default: the login of the URL, if any. */
  authenticator?: Authenticator;
  /** TLS options of the driver. Default: TLS only if the server requires it. */
  tls?: TlsOptions;
  /** The monitoring address of each server (`http://host:8222`). Without it the doctor cannot see when servers sync. */
  monitoring?: readonly string[];
  /**
   * `require` makes opening fail with `DURABILITY_TOO_WEAK` on servers where a power cut could lose an acknowledged
   * write. By default the store opens anyway; `doctor` reports the weakness.
   */
  durability?: 'require';
}

const DEFAULT_PREFIX = 'tidemark';

/** Options that are also read from the query of the URL. */
export const URL_OPTIONS: UrlReadings = { prefix: 'text', replicas: 'number', monitoring: 'list' };

export function checkPrefix(prefix: string | undefined): string {
  if (prefix === undefined) return DEFAULT_PREFIX;
  if (/^[A-Za-z0-9_-]{1,64}$/.test(prefix)) return prefix;
  throw invalidArgument('prefix', 'at most 64 letters, digits, hyphens and underscores', prefix);
}

export function checkReplicas(replicas: number | undefined): number | undefined {
  if (replicas === undefined) return undefined;
  checkInteger(replicas, 'replicas', 1);
  if ([1, 3, 5].includes(replicas)) return replicas;
  throw invalidArgument('replicas', '1, 3 or 5', replicas);
}

/** Returns the servers of a URL, and the first login in it. */
export function parseServers(url: string): { servers: string[]; user?: string; pass?: string; token?: string } {
  const parts = url.replace(/^(nats|tls):\/\//, '').split(',');
  const servers = parts.map((part) => parseAddress(part.replace(/^(nats|tls):\/\//, ''), url));
  const login = servers.find(({ username }) => username !== '');
  const user = login && decodeURIComponent(login.username);
  const pass = login?.password ? decodeURIComponent(login.password) : undefined;
  return {
    servers: servers.map(({ host }) => host),
    ...(user !== undefined && (pass === undefined ? { token: user } : { user, pass })),
  };
}

function parseAddress(part: string, url: string): URL {
  const address = URL.parse(`nats://${part.replace(/(?<!\/)\/+$/, '')}`);
  if (address && address.hostname !== '') return address;
  throw invalidArgument('url', 'a URL such as nats://localhost:4222', url);
}
