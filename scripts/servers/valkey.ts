/** Valkey, which is compatible with Redis: Debian's backport, unpacked. */

import { dirname } from 'node:path';
import type { ServerKind } from './kind.ts';
import { redis } from './redis.ts';
import { unpack } from './unpacked.ts';

export async function valkey(): Promise<ServerKind> {
  const title = 'Valkey 8';
  const program = await unpack({
    title,
    name: 'valkey-server-8',
    suite: 'bookworm-backports',
    // The server is another name of a program in the tools package.
    packages: ['valkey-server', 'valkey-tools'],
    path: 'usr/bin/valkey-server',
  });
  const found = { program: 'valkey-server', notFromPath: true, elsewhere: [dirname(program)], aptPackage: undefined };
  return { ...redis, title, ...found, container: { ...redis.container, image: undefined } };
}
