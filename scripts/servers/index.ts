/**
 * Real servers for the tests: the one offered in the environment if there is one, otherwise one that we start. To add a
 * server, write its kind in its own file and name it in `KINDS`.
 */

import { findProgram, obtain, urlVariable } from './install.ts';
import type { ServerKind } from './kind.ts';
import { nats } from './nats.ts';
import { postgres } from './postgres.ts';
import { redis } from './redis.ts';
import { type RunningServer, startServer } from './start.ts';

const KINDS = { postgres, redis, nats };
/** Backends that need no server. */
const EMBEDDED = ['memory', 'sqlite'];

export type ServerName = keyof typeof KINDS;
export type RunningServers = Partial<Record<ServerName, RunningServer>>;

/** Returns the servers the tests need: all of them, unless `TIDEMARK_TEST_BACKENDS` narrows the run on purpose. */
export function neededServers(): ServerName[] {
  const names = Object.keys(KINDS) as ServerName[];
  const narrowed = process.env.TIDEMARK_TEST_BACKENDS;
  if (!narrowed) return names;
  const backends = narrowed.split(',').map((backend) => backend.trim());
  const known: string[] = [...EMBEDDED, ...names];
  const unknown = backends.filter((backend) => !known.includes(backend));
  if (unknown.length > 0) {
    throw new Error(`TIDEMARK_TEST_BACKENDS names ${unknown.join(', ')}; the backends are ${known.join(', ')}.`);
  }
  return names.filter((name) => backends.includes(name));
}

/** Returns the URL of a server for tests: set by `npm test`, or by the user to offer a running one. */
export function offeredUrl(name: ServerName): string | undefined {
  return process.env[urlVariable(name)] || undefined;
}

/** Sets the servers' URLs in the environment of this process and of the ones it starts from now on. */
export function announce(servers: RunningServers): void {
  for (const [name, { url }] of Object.entries(servers)) process.env[urlVariable(name)] = url;
}

/**
 * Returns every named server, offered or started, ready to use. If one is unavailable, the others are stopped again.
 */
export async function startServers(names: ServerName[]): Promise<RunningServers> {
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
export function isInstalled(name: ServerName): boolean {
  return findProgram(KINDS[name]) !== undefined;
}

/** Starts another server even if one is offered: for tests that stop it, break it or need several. */
export function startOwnServer(name: ServerName): Promise<RunningServer> {
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
