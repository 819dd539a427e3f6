/**
 * Finds programs on this machine or installs them from Debian's packages as root. Docker runs servers that cannot be
 * installed. A missing program is an error that explains what to do; nothing is skipped silently.
 */

import { accessSync, constants, globSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { runQuietly } from '../processes.ts';
import type { ProgramKind, ServerKind } from './kind.ts';

const CANNOT_INSTALL = 'apt-get is not there or this user is not root';

/** The source of a server: a program on this machine, or a container. */
export type Source = { program: string } | 'docker';

/** Returns the source of each kind, installing missing programs. */
export async function obtain(kinds: ServerKind[]): Promise<Map<ServerKind, Source>> {
  const sources = new Map<ServerKind, Source>();
  const missing = () => kinds.filter((kind) => !sources.has(kind));
  const useDocker = () => {
    for (const kind of missing()) if (kind.container.image) sources.set(kind, 'docker');
  };
  const usePrograms = () => {
    for (const kind of missing()) {
      const program = findProgram(kind);
      if (program) sources.set(kind, { program });
    }
  };

  if (process.env.TIDEMARK_TEST_DOCKER) {
    if (!(await dockerAnswers())) throw new Error('TIDEMARK_TEST_DOCKER is set, but `docker info` fails.');
    useDocker();
  }
  usePrograms();
  let obstacle = CANNOT_INSTALL;
  const packages = missing().flatMap(({ aptPackage }) => aptPackage ?? []);
  if (packages.length > 0 && canInstall()) {
    obstacle = await installPackages(packages);
    usePrograms();
  }
  if (missing().length > 0 && (await dockerAnswers())) useDocker();
  if (missing().length > 0) throw new Error(whatToDo(missing(), obstacle));
  return sources;
}

/** Returns the path of a program other than a server, installed if it is missing. */
export async function obtainProgram(kind: ProgramKind): Promise<string> {
  const found = findProgram(kind);
  if (found) return found;
  const { title, aptPackage } = kind;
  const obstacle = aptPackage && canInstall() ? await installPackages([aptPackage].flat()) : CANNOT_INSTALL;
  const installed = findProgram(kind);
  if (installed) return installed;
  throw new Error(
    `The tests need ${title}, and installing was not possible (${obstacle}). Install: ${[aptPackage].flat().join(' ')}.`,
  );
}

/** Searches the PATH first, then the directories of the kind. */
export function findProgram({ program, elsewhere, notFromPath }: ProgramKind): string | undefined {
  const onPath = notFromPath ? [] : (process.env.PATH ?? '').split(delimiter).filter(Boolean);
  const versions = elsewhere.flatMap((pattern) => globSync(pattern).sort(byVersion));
  return [...onPath, ...versions].map((directory) => join(directory, program)).find(isExecutable);
}

function byVersion(a: string, b: string): number {
  return b.localeCompare(a, 'en', { numeric: true });
}

function isExecutable(path: string): boolean {
  try {
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}

async function dockerAnswers(): Promise<boolean> {
  return (await runQuietly('docker', ['info'], { timeout: 10_000 })).code === 0;
}

function canInstall(): boolean {
  return process.getuid?.() === 0 && isExecutable('/usr/bin/apt-get');
}

/**
 * `flock` admits one process at a time; a second one finds nothing left to do. Debian starts a service when it is
 * installed, unless `policy-rc.d` forbids it, and at every boot. A test run should not leave such a service behind.
 */
const INSTALL = `
  policy=/usr/sbin/policy-rc.d
  trap 'exit 130' HUP INT TERM
  if [ ! -e "$policy" ]; then
    trap 'rm -f "$policy"' EXIT
    printf '#!/bin/sh\\nexit 101\\n' >"$policy" && chmod 755 "$policy"
  fi
  export DEBIAN_FRONTEND=noninteractive
  apt-get update -qq -o DPkg::Lock::Timeout=300 &&
  apt-get install -y -qq --no-install-recommends -o DPkg::Lock::Timeout=300 "$@" || exit
  systemctl disable --quiet "$@" >/dev/null 2>&1 || true
`;

/** Installs packages. Returns the obstacle if a program is still missing afterwards. */
async function installPackages(packages: string[]): Promise<string> {
  console.error(`Installing ${packages.join(', ')} with apt-get: the tests run against the real thing.`);
  const began = performance.now();
  const args = ['/run/tidemark-test-servers.lock', 'sh', '-c', INSTALL, 'tidemark-install', ...packages];
  const { code, output } = await runQuietly('flock', args);
  if (code !== 0) console.error(output);
  console.error(`apt-get ended with code ${code} after ${((performance.now() - began) / 1000).toFixed(1)} s.`);
  return `apt-get ended with code ${code}`;
}

function whatToDo(missing: ServerKind[], obstacle: string): string {
  const list = (texts: string[]) => texts.join(texts.length > 2 ? ', ' : ' and ');
  const packages = missing.flatMap(({ aptPackage }) => aptPackage ?? []);
  const install = packages.length > 0 ? `apt-get install --no-install-recommends ${packages.join(' ')}` : 'npm ci';
  return [
    `The tests need ${list(missing.map(({ title }) => title))}, found neither on the PATH nor in the usual places, and`,
    `installing was not possible (${obstacle}; Docker does not answer).`,
    `Either install: ${install};`,
    `or offer running servers in ${list(missing.map(({ name }) => urlVariable(name)))};`,
    'or leave those backends out on purpose, for example with TIDEMARK_TEST_BACKENDS=memory,sqlite.',
  ].join(' ');
}

/** Returns the environment variable that offers a running server to the tests. */
export function urlVariable(name: string): string {
  return `TIDEMARK_TEST_${name.toUpperCase()}_URL`;
}
