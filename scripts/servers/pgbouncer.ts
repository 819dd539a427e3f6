/** PgBouncer for tests: in transaction mode, which keeps no session state, in front of a running PostgreSQL. */

import { chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { Installation, ServerKind } from './kind.ts';
import { probe } from './postgres.ts';

/** Returns a pooler in front of the server at `upstream`, with access to every database and role of that server. */
export function pgbouncer(upstream: string): ServerKind {
  return {
    name: 'pgbouncer',
    title: 'PgBouncer',
    program: 'pgbouncer',
    elsewhere: ['/usr/sbin', '/usr/local/bin', '/opt/homebrew/bin'],
    aptPackage: 'pgbouncer',
    // A container could not reach a server that listens only on 127.0.0.1 of this machine.
    container: { ports: [6432], args: [], environment: {} },
    refusesRoot: true,
    // SIGINT would wait for every client to disconnect.
    stopSignal: 'SIGTERM',
    prepare: async (installation) => writeSettings(installation, new URL(upstream)),
    serverArgs: ({ directory }) => [join(directory, 'pgbouncer.ini')],
    url: (port) => `postgres://postgres@127.0.0.1:${port}/postgres`,
    probe,
  };
}

/** `trust` takes the role from the client, which must be listed; with `any`, everyone would have the same role. */
function writeSettings({ directory, ports, user }: Installation, { hostname, port }: URL): undefined {
  const users = join(directory, 'users.txt');
  const settings = join(directory, 'pgbouncer.ini');
  writeFileSync(users, ROLES.map((role) => `"${role}" ""\n`).join(''));
  writeFileSync(
    settings,
    `[databases]
* = host=${hostname} port=${port || 5432}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${ports[0]}
unix_socket_dir =
auth_type = trust
auth_file = ${users}
pool_mode = transaction
max_client_conn = 500
default_pool_size = 20
`,
  );
  for (const file of [users, settings]) if (user) chownSync(file, user.uid, user.gid);
  return undefined;
}

/** The roles of the tests: the owner, and the one without privileges under row-level security. */
const ROLES = ['postgres', 'tidemark_app'];
