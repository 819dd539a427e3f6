/** The information that a server reports about itself. A member is `null` if the server refuses to report it. */

import type { Connection } from './connection.ts';
import { translate } from './errors.ts';
import type { Servers } from './servers.ts';

export interface ServerFacts {
  /** `host:port`. */
  address: string;
  info: ReadonlyMap<string, string>;
  /** Settings, if CONFIG is allowed. */
  config: ReadonlyMap<string, string> | null;
  cluster: ReadonlyMap<string, string> | null;
  hasWaitAof: boolean | null;
  /** The login of this process: its name, and whether it may run `FLUSHALL`. */
  login: { name: string; mayFlush: boolean } | null;
  /** How far the server's clock is ahead of ours, in milliseconds. */
  clockAheadMs: number;
}

const SETTINGS = [
  'appendonly',
  'appendfsync',
  'no-appendfsync-on-rewrite',
  'maxmemory',
  'maxmemory-policy',
  'min-replicas-to-write',
  'min-replicas-max-lag',
];

/** Reads the facts of every master. */
export async function readFacts(servers: Servers): Promise<ServerFacts[]> {
  try {
    return await Promise.all(servers.masters().map(factsOfServer));
  } catch (error) {
    throw translate(error, 'read');
  }
}

async function factsOfServer(connection: Connection): Promise<ServerFacts> {
  const { host, port } = connection.address;
  const began = Date.now();
  const time = (await connection.send(['TIME'])) as [Buffer, Buffer];
  const now = (began + Date.now()) / 2;
  const info = parseInfo(((await connection.send(['INFO'])) as Buffer).toString());
  return {
    address: `${host}:${port}`,
    info,
    config: await unlessRefused(async () => readConfig(connection)),
    cluster:
      info.get('cluster_enabled') === '1'
        ? await unlessRefused(async () =>
            parseInfo(((await connection.send(['CLUSTER', 'INFO'])) as Buffer).toString()),
          )
        : null,
    hasWaitAof: await unlessRefused(async () => {
      const [found] = (await connection.send(['COMMAND', 'INFO', 'WAITAOF'])) as unknown[];
      return found !== null;
    }),
    login: await unlessRefused(async () => readLogin(connection)),
    clockAheadMs: Math.round(Number(time[0]) * 1_000 + Number(time[1]) / 1_000 - now),
  };
}

async function readConfig(connection: Connection): Promise<Map<string, string>> {
  const flat = (await connection.send(['CONFIG', 'GET', ...SETTINGS])) as Buffer[];
  const config = new Map<string, string>();
  for (let at = 0; at < flat.length; at += 2) config.set(flat[at]!.toString(), flat[at + 1]!.toString());
  return config;
}

async function readLogin(connection: Connection): Promise<ServerFacts['login']> {
  const name = String(await connection.send(['ACL', 'WHOAMI']));
  const answer = String(await connection.send(['ACL', 'DRYRUN', name, 'FLUSHALL']));
  return { name, mayFlush: answer === 'OK' };
}

async function unlessRefused<T>(ask: () => Promise<T>): Promise<T | null> {
  try {
    return await ask();
  } catch {
    return null;
  }
}

function parseInfo(text: string): Map<string, string> {
  const lines = text.split('\r\n').filter((line) => line.includes(':') && !line.startsWith('#'));
  return new Map(lines.map((line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1)]));
}

/** Returns the version of the server. Valkey also reports itself as Redis 7.2, so its own version is used. */
export async function readVersion(servers: Servers): Promise<string> {
  const [{ info }] = (await readFacts(servers)) as [ServerFacts];
  const valkey = info.get('valkey_version');
  return valkey ? `Valkey ${valkey}` : (info.get('redis_version') ?? 'unknown');
}

export interface Replica {
  state: string;
  lagSeconds: number;
}

/** Parses `slave0:ip=…,port=…,state=online,offset=…,lag=0`. */
export function parseReplicas({ info }: ServerFacts): Replica[] {
  const replicas: Replica[] = [];
  for (const [name, value] of info) {
    if (!/^slave\d+$/.test(name)) continue;
    const parts = new Map(value.split(',').map((part) => part.split('=') as [string, string]));
    replicas.push({ state: parts.get('state') ?? 'unknown', lagSeconds: Number(parts.get('lag') ?? Number.NaN) });
  }
  return replicas;
}
