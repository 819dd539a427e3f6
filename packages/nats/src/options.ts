/** The options of the NATS store. */
import type { Authenticator, TlsOptions } from '@nats-io/nats-core';
import { invalidArgument, type StoreOptions } from '@tidemark/core';
import { checkInteger, invalidUrl, type UrlReadings } from '@tidemark/core/engine';

/** Options of `natsStore`. */
export interface NatsOptions extends StoreOptions {
  /**
   * `nats://user:password@host:port`, or `tls://` for servers that must offer TLS. Separate several servers of a
   * cluster by commas. The query may contain `prefix`, `replicas`, `monitoring` and `upgrade`:
   * `?prefix=app&replicas=3`.
   */
  url: string;
  /**
   * Prefix of all stream and subject names, so that several stores can share an account. Default `tidemark`.
   */
  prefix?: string;
  /** Number of replicas of each new stream. Default 3 in a cluster, 1 on a single server. */
  replicas?: 1 | 3 | 5;
  /** An authenticator of the driver, for logins that the URL cannot express. Default: the login of the URL, if any. */
  authenticator?: Authenticator;
  /**
   * TLS options of the driver. With them, or a URL that begins with `tls://`, opening fails on a server without TLS.
   * Default: TLS if the server offers it.
   */
  tls?: TlsOptions;
  /**
   * The monitoring address of each server (`http://host:8222`). Without it, the doctor cannot determine when servers
   * sync.
   */
  monitoring?: readonly string[];
  /**
   * `require` makes opening fail with `DURABILITY_TOO_WEAK` on servers where a power failure could lose an acknowledged
   * write. By default the store opens anyway; `doctor` reports the weakness.
   */
  durability?: 'require';
}

const DEFAULT_PREFIX = 'tidemark';

/** Options that may also be set in the query of the URL. */
export const URL_OPTIONS: UrlReadings = { prefix: 'text', replicas: 'number', monitoring: 'list', upgrade: 'switch' };

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

/** The servers of a URL, the first login in it, and whether one of them must offer TLS. */
export interface Servers {
  servers: string[];
  needsTls: boolean;
  login: { user?: string; pass?: string; token?: string };
}

export function parseServers(url: string): Servers {
  const parts = url.split(',');
  const servers = parts.map((part) => parseAddress(part.replace(/^(nats|tls):\/\//, ''), url));
  const login = servers.find(({ username }) => username !== '');
  const user = login && decodePercent(login.username);
  const pass = login?.password ? decodePercent(login.password) : undefined;
  return {
    servers: servers.map(({ host }) => host),
    needsTls: parts.some((part) => part.startsWith('tls://')),
    login: user === undefined ? {} : pass === undefined ? { token: user } : { user, pass },
  };
}

function decodePercent(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    // The error does not include the text, because the text contains a password.
    throw invalidArgument('url', 'a URL whose login has valid percent escapes');
  }
}

function parseAddress(part: string, url: string): URL {
  const address = URL.parse(`nats://${part.replace(/(?<!\/)\/+$/, '')}`);
  if (address && address.hostname !== '') return address;
  throw invalidUrl('a URL such as nats://localhost:4222', url);
}
