/** PostgreSQL for tests: a new cluster that flushes as in production, and trusts every connection from this machine. */

import { cpSync, readFileSync, realpathSync, symlinkSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { ROOT, runQuietly } from '../processes.ts';
import { converse } from './conversation.ts';
import type { Installation, ServerKind } from './kind.ts';

export const postgres: ServerKind = {
  name: 'postgres',
  title: 'PostgreSQL',
  program: 'postgres',
  elsewhere: ['/usr/lib/postgresql/*/bin', '/usr/pgsql-*/bin', '/opt/homebrew/opt/postgresql@*/bin'],
  aptPackage: 'postgresql',
  container: {
    image: 'postgres:17',
    ports: [5432],
    args: ['-c', 'max_connections=300'],
    environment: { POSTGRES_HOST_AUTH_METHOD: 'trust' },
  },
  refusesRoot: true,
  // SIGTERM would wait for every client to disconnect.
  stopSignal: 'SIGINT',
  prepare: async (installation) => {
    await initialise(installation);
    return undefined;
  },
  serverArgs: ({ directory, ports }) => [
    ...['-D', join(directory, 'data'), '-h', '127.0.0.1', '-p', String(ports[0])],
    ...['-c', 'unix_socket_directories=', '-c', 'max_connections=300'],
  ],
  url: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
  probe,
};

/** The versions that npm installs on Linux x64, independent of the machine. */
export type PostgresVersion = 14 | 18;

/** Returns PostgreSQL of exactly this version. */
export function postgresOfVersion(version: PostgresVersion): ServerKind {
  const { aptPackage: _, ...common } = postgres;
  return {
    ...common,
    name: `postgres-${version}`,
    title: `PostgreSQL ${version}`,
    elsewhere: [join(ROOT, 'node_modules', `postgres-${version}`, 'native', 'bin')],
    notFromPath: true,
    container: { ...postgres.container, image: `postgres:${version}` },
    prepare: async (installation) => {
      const program = copyProgram(installation);
      await initialise({ ...installation, program });
      return program;
    },
  };
}

/**
 * Copies the program to a directory that its user can read, which may not be the case in the checkout, and adds the
 * library names that it loads, because npm packages cannot contain symbolic links.
 */
function copyProgram({ program, directory }: Installation): string {
  const native = dirname(dirname(program));
  const copy = join(directory, 'postgres');
  for (const part of ['bin', 'lib', 'share']) {
    const needed = (path: string) => !path.endsWith('.a') && basename(path) !== 'pgxs';
    // Keeps links that npm's own script may have created already.
    cpSync(join(native, part), join(copy, part), { recursive: true, filter: needed, verbatimSymlinks: true });
  }
  const links: { source: string; target: string }[] = JSON.parse(
    readFileSync(join(native, 'pg-symlinks.json'), 'utf8'),
  );
  for (const { source, target } of links) {
    try {
      symlinkSync(basename(source), join(copy, target.replace(/^native\//, '')));
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error;
    }
  }
  return join(copy, 'bin', basename(program));
}

/** `--no-sync` skips only the flush of the empty cluster; the server itself runs with `fsync` on. */
async function initialise({ program, directory, user }: Installation): Promise<void> {
  const { code, output } = await runQuietly(
    join(dirname(realpathSync(program)), 'initdb'),
    [
      ...['--pgdata', join(directory, 'data'), '--username', 'postgres', '--auth', 'trust'],
      ...['--encoding', 'UTF8', '--locale', 'C', '--data-checksums', '--no-sync'],
    ],
    { cwd: directory, ...user },
  );
  if (code !== 0) throw new Error(`initdb failed:\n${output}`);
}

/** Opens a session and returns the version that the server announces, or `unknown` if it first asks for a password. */
export function probe(url: URL): Promise<string> {
  return converse(url, 5432, async ({ send, receive }) => {
    const database = url.pathname.slice(1) || url.username;
    const text = `user\0${decodeURIComponent(url.username)}\0database\0${decodeURIComponent(database)}\0\0`;
    const startup = Buffer.alloc(8 + Buffer.byteLength(text));
    startup.writeInt32BE(startup.length, 0);
    startup.writeInt32BE(3 << 16, 4);
    startup.write(text, 8);
    send(startup);
    return receive(understandStartup);
  });
}

function understandStartup(received: Buffer): string | undefined {
  for (let at = 0; at + 5 <= received.length; ) {
    const type = String.fromCharCode(received[at]!);
    const end = at + 1 + received.readInt32BE(at + 1);
    if (end > received.length) return undefined;
    const body = received.subarray(at + 5, end);
    if (type === 'R' && body.readInt32BE(0) !== 0) return 'unknown';
    if (type === 'E') throw new Error(body.toString().split('\0').join(' ').trim());
    const [parameter, value] = body.toString().split('\0');
    if (type === 'S' && parameter === 'server_version') return value;
    at = end;
  }
  return undefined;
}
