/**
 * Real servers for the tests: the one configured in the environment if there is one, otherwise one that we start. To
 * add a server, describe it in its own file and list it in `KINDS`.
 */

import { ceph } from './ceph.ts';
import { dynamodb } from './dynamodb.ts';
import { findProgram, obtain, urlVariable } from './install.ts';
import type { ServerKind } from './kind.ts';
import { nats } from './nats.ts';
import { postgres } from './postgres.ts';
import { redis } from './redis.ts';
import { type RunningServer, startServer } from './start.ts';

const BACKENDS = { postgres, redis, nats, dynamodb };
const KINDS = { ...BACKENDS, s3: ceph };
/** Backends that need no server. */
const EMBEDDED = ['memory', 'sqlite'];

/** The servers of backends. */
export type ServerName = keyof typeof BACKENDS;
/** These and the S3 server, which has no backend. */
export type AnyServerName = keyof typeof KINDS;
export type RunningServers = Partial<Record<AnyServerName, RunningServer>>;

/** Returns the backends' servers the tests need: all of them, unless `TIDEMARK_TEST_BACKENDS` narrows the run on purpose. */
export function neededServers(): ServerName[] {
  const names = Object.keys(BACKENDS) as ServerName[];
  const backends = narrowedBackends();
  if (!backends) return names;
  const known: string[] = [...EMBEDDED, ...Object.keys(KINDS)];
  const unknown = backends.filter((backend) => !known.includes(backend));
  if (unknown.length > 0) {
    throw new Error(`TIDEMARK_TEST_BACKENDS names ${unknown.join(', ')}; the backends are ${known.join(', ')}.`);
  }
  return names.filter((name) => backends.includes(name));
}

/**
 * Whether the tests of S3 run. Its server takes half a minute to install, so they run where it is installed or offered,
 * or where `TIDEMARK_TEST_BACKENDS` names it.
 */
export function needsS3(): boolean {
  return narrowedBackends()?.includes('s3') ?? (offeredUrl('s3') !== undefined || isInstalled('s3'));
}

/** Returns all servers to start before the tests. */
export function serversToStart(): AnyServerName[] {
  return [...neededServers(), ...(needsS3() ? (['s3'] as const) : [])];
}

function narrowedBackends(): string[] | undefined {
  return (process.env.TIDEMARK_TEST_BACKENDS || undefined)?.split(',').map((backend) => backend.trim());
}

/** Returns the URL of a server for tests: set by `npm test`, or by the user for a server that is already running. */
export function offeredUrl(name: AnyServerName): string | undefined {
  return process.env[urlVariable(name)] || undefined;
}

/** Sets the servers' URLs in the environment of this process and of all processes that it starts afterwards. */
export function announce(servers: RunningServers): void {
  for (const [name, { url }] of Object.entries(servers)) process.env[urlVariable(name)] = url;
}

/** Removes the URLs of servers that we started from the environment again. */
export function revoke(servers: RunningServers): void {
  for (const [name, { started }] of Object.entries(servers)) if (started) delete process.env[urlVariable(name)];
}

/**
 * Returns every named server, offered or started, ready to use. If one is unavailable, the others are stopped again.
 */
export async function startServers(names: AnyServerName[]): Promise<RunningServers> {
  const own = names.filter((name) => offeredUrl(name) === undefined);
  const sources = await obtain(own.map((name) => KINDS[name]));
  const started = await Promise.allSettled(
    names.map(async (name) => {
      const source = sources.get(KINDS[name]);
      return [name, source ? await startServer(KINDS[name], source) : await greet(KINDS[name], offeredUrl(name)!)];
    }),
  );
  const servers: RunningServers = Object.fromEntries(
    started.flatMap((result) => (result.status === 'fulfilled' ? [result.value] : [])),
  );
  const failure = started.find((result) => result.status === 'rejected');
  if (failure) {
    await stopServers(servers);
    throw failure.reason;
  }
  return servers;
}

/** Returns whether this machine has the server's program, so that `startOwnServer` needs no download. */
export function isInstalled(name: AnyServerName): boolean {
  return findProgram(KINDS[name]) !== undefined;
}

/** Starts another server even if one is configured, for tests that stop it, break it or need several. */
export function startOwnServer(name: AnyServerName): Promise<RunningServer> {
  return startKind(KINDS[name]);
}

/** Starts a kind of server that `npm test` does not start by default: another version, or a pooler in front of one. */
export async function startKind(kind: ServerKind): Promise<RunningServer> {
  const sources = await obtain([kind]);
  return startServer(kind, sources.get(kind)!);
}

export async function stopServers(servers: RunningServers): Promise<void> {
  await Promise.all(Object.values(servers).map((server) => server.stop()));
}

/** Checks that an offered server responds and is of the right kind. */
async function greet(kind: ServerKind, url: string): Promise<RunningServer> {
  try {
    return { url, version: await kind.probe(new URL(url)), stop: async () => {} };
  } catch (error) {
    const { host } = URL.parse(url) ?? { host: 'something that is no URL' };
    const reason = error instanceof Error ? error.message : String(error);
    throw new Error(`${urlVariable(kind.name)} names ${host}, but ${kind.title} does not answer there: ${reason}`, {
      cause: error,
    });
  }
}
