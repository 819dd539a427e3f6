/** NATS of another version, in another configuration: Debian 13's package, unpacked into a directory of its own, and configuration files. */

import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runQuietly } from '../processes.ts';
import type { Place, ServerKind } from './kind.ts';
import { nats } from './nats.ts';

export type NatsVersion = 'installed' | '2.10';

/** Where the unpacked package stays, for every later run. */
const UNPACKED = join(tmpdir(), 'tidemark-nats-server-2.10');
const PROGRAMS = join(UNPACKED, 'root/usr/sbin');

/** `flock` lets one process at a time in; a second one finds the program there. Lists of packages of our own: the machine's stay as they are. */
const UNPACK = `
  [ -x root/usr/sbin/nats-server ] && exit 0
  mkdir -p lists/partial cache/archives/partial
  echo 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian trixie main' >sources.list
  apt() {
    apt-get -qq -o Dir::Etc::sourcelist="$PWD/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$PWD/lists" \\
      -o Dir::Cache="$PWD/cache" -o Acquire::Languages=none -o APT::Sandbox::User= "$@"
  }
  apt update && apt download nats-server && dpkg-deb -x nats-server_*.deb unpacking && mv unpacking root
`;

/** A kind of that version whose server reads this configuration, after the part about ports and directories. */
export async function natsOf(
  version: NatsVersion,
  configuration: (place: Place) => string = () => '',
  jetstream: (place: Place) => string = () => '',
): Promise<ServerKind> {
  const fileOf = ({ directory }: Place) => join(directory, 'nats.conf');
  const prepare = async (place: Place) => {
    writeFileSync(fileOf(place), `${base(place, jetstream(place))}\n${configuration(place)}\n`);
    return undefined;
  };
  const kind: ServerKind = { ...nats, prepare, serverArgs: (place) => ['-c', fileOf(place)] };
  if (version === 'installed') return kind;
  await unpack();
  return { ...kind, title: `NATS ${version}`, notFromPath: true, elsewhere: [PROGRAMS], aptPackage: undefined };
}

function base({ directory, ports }: Place, jetstream: string): string {
  return [
    `listen: "127.0.0.1:${ports[0]}"`,
    `http: "127.0.0.1:${ports[1]}"`,
    `jetstream {\n  store_dir: ${JSON.stringify(join(directory, 'jetstream'))}\n  ${jetstream}\n}`,
  ].join('\n');
}

async function unpack(): Promise<void> {
  if (existsSync(join(PROGRAMS, 'nats-server'))) return;
  mkdirSync(UNPACKED, { recursive: true });
  const script = `cd '${UNPACKED}' && ${UNPACK}`;
  const { code, output } = await runQuietly('flock', [`${UNPACKED}.lock`, 'sh', '-c', script]);
  if (code === 0) return;
  throw new Error(
    `NATS 2.10 could not be had from Debian 13's packages, which these tests need: ${output.trim()}. ` +
      `Put its nats-server into ${PROGRAMS}, or leave NATS out with TIDEMARK_TEST_BACKENDS.`,
  );
}
