/** What the NATS store can be told, with the default of each option and what it costs. */
import type { Authenticator, TlsOptions } from '@nats-io/nats-core';
import { invalidArgument, type StoreOptions } from '@tidemark/core';
import { checkInteger, type UrlReadings } from '@tidemark/core/engine';

export interface NatsOptions extends StoreOptions {
  /**
   * `nats://user:password@host:port`; several servers of a cluster are parted by commas. Options below may stand in its query:
   * `?prefix=app&replicas=3`.
   */
  url: string;
  /** Begins the name of every stream and subject; several stores can share an account. Default `tidemark`. */
  prefix?: string;
  /** On how many servers each stream is kept, when it is made. Default 3 in a cluster, 1 on a single server. */
  replicas?: 1 | 3 | 5;
  /** How to log in where the URL does not say it: an authenticator of the driver. */
  authenticator?: Authenticator;
  tls?: TlsOptions;
  /** Where each server shows its settings (`http://host:8222`); without it the doctor cannot see when they sync. */
  monitoring?: readonly string[];
  /** `require` refuses servers on which an acknowledged write could be lost in a power cut (GEN-9). */
  durability?: 'require';
}

const DEFAULT_PREFIX = 'tidemark';

/** What may also stand in the query of the URL. */
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

/** The servers of a URL, and the login of the first one that has one. */
export function serversOf(url: string): { servers: string[]; user?: string; pass?: string; token?: string } {
  const parts = url.replace(/^(nats|tls):\/\//, '').split(',');
  const servers = parts.map((part) => addressOf(part.replace(/^(nats|tls):\/\//, ''), url));
  const login = servers.find(({ username }) => username !== '');
  const user = login && decodeURIComponent(login.username);
  const pass = login?.password ? decodeURIComponent(login.password) : undefined;
  return {
    servers: servers.map(({ host }) => host),
    ...(user !== undefined && (pass === undefined ? { token: user } : { user, pass })),
  };
}

function addressOf(part: string, url: string): URL {
  const address = URL.parse(`nats://${part.replace(/(?<!\/)\/+$/, '')}`);
  if (address && address.hostname !== '') return address;
  throw invalidArgument('url', 'a URL such as nats://localhost:4222', url);
}
