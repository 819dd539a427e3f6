/** NATS of another version or configuration: Debian 13's package, and configuration files. */

import { writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import type { Installation, ServerKind } from './kind.ts';
import { nats } from './nats.ts';
import { type UnpackedProgram, unpack } from './unpacked.ts';

export type NatsVersion = 'installed' | '2.10';

const DEBIAN_13: UnpackedProgram = {
  title: 'NATS 2.10',
  name: 'nats-server-2.10',
  suite: 'trixie',
  packages: ['nats-server'],
  path: 'usr/sbin/nats-server',
};

/** Returns a kind of that version whose server reads this configuration, after the part about ports and directories. */
export async function natsOf(
  version: NatsVersion,
  configuration: (installation: Installation) => string = () => '',
  jetstream: (installation: Installation) => string = () => '',
): Promise<ServerKind> {
  const fileOf = ({ directory }: Installation) => join(directory, 'nats.conf');
  const prepare = async (installation: Installation) => {
    writeFileSync(
      fileOf(installation),
      `${base(installation, jetstream(installation))}\n${configuration(installation)}\n`,
    );
    return undefined;
  };
  const kind: ServerKind = { ...nats, prepare, serverArgs: (installation) => ['-c', fileOf(installation)] };
  if (version === 'installed') return kind;
  const elsewhere = [dirname(await unpack(DEBIAN_13))];
  return { ...kind, title: DEBIAN_13.title, notFromPath: true, elsewhere, aptPackage: undefined };
}

function base({ directory, ports }: Installation, jetstream: string): string {
  return [
    `listen: "127.0.0.1:${ports[0]}"`,
    `http: "127.0.0.1:${ports[1]}"`,
    `jetstream {\n  store_dir: ${JSON.stringify(join(directory, 'jetstream'))}\n  ${jetstream}\n}`,
  ].join('\n');
}
