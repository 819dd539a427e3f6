/**
 * Programs of another Debian release: their packages, unpacked into a separate directory, without touching the
 * installed ones.
 */

import { existsSync, mkdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runQuietly } from '../processes.ts';

export interface UnpackedProgram {
  /** The display name. */
  title: string;
  /** The name of the directory, which is kept for later runs. */
  name: string;
  /** The Debian release. */
  suite: string;
  packages: readonly string[];
  /** The program's path in the packages. */
  path: string;
}

/**
 * `flock` admits one process at a time; a second one finds the program already unpacked. Uses separate package lists,
 * so that the machine's stay unchanged.
 */
const scriptFor = ({ suite, packages, path }: UnpackedProgram) => `
  [ -x root/${path} ] && exit 0
  mkdir -p lists/partial cache/archives/partial
  echo 'deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] http://deb.debian.org/debian ${suite} main' >sources.list
  apt() {
    apt-get -qq -o Dir::Etc::sourcelist="$PWD/sources.list" -o Dir::Etc::sourceparts=- -o Dir::State::lists="$PWD/lists" \\
      -o Dir::Cache="$PWD/cache" -o Acquire::Languages=none -o APT::Sandbox::User= "$@"
  }
  apt update && apt download ${packages.join(' ')} && for file in *.deb; do dpkg-deb -x "$file" unpacking || exit 1; done &&
    mv unpacking root
`;

/** Unpacks the program if needed and returns its path. */
export async function unpack(wanted: UnpackedProgram): Promise<string> {
  const directory = join(tmpdir(), `tidemark-${wanted.name}`);
  const program = join(directory, 'root', wanted.path);
  if (existsSync(program)) return program;
  mkdirSync(directory, { recursive: true });
  const script = `cd '${directory}' && ${scriptFor(wanted)}`;
  const { code, output } = await runQuietly('flock', [`${directory}.lock`, 'sh', '-c', script]);
  if (code === 0) return program;
  throw new Error(
    `${wanted.title} could not be had from the packages of Debian's ${wanted.suite}, which these tests need: ` +
      `${output.trim()}. Put its program at ${program}, or leave its backend out with TIDEMARK_TEST_BACKENDS.`,
  );
}
