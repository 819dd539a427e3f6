/**
 * Packs the published packages as users get them: without the condition for sources, scripts and development
 * dependencies. Needs a build.
 */
import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { ROOT } from '../processes.ts';
import { completed, type Manifest, packageFolders, readManifest } from './manifests.ts';

/** A packed package. */
export interface Packed {
  name: string;
  version: string;
  /** The path of the tarball. */
  tarball: string;
  /** The paths of its files. */
  files: string[];
  unpackedBytes: number;
}

interface NpmPack {
  name: string;
  version: string;
  filename: string;
  unpackedSize: number;
  files: { path: string }[];
}

/** Writes the tarball of every published package to a directory, by default under the current version. */
export function packAll(destination: string, version = readManifest(ROOT).version): Packed[] {
  mkdirSync(destination, { recursive: true });
  const shared = { ...readManifest(ROOT), version };
  return packageFolders(ROOT, { published: true }).map((folder) => packOne(folder, shared, destination));
}

function packOne(folder: string, shared: Manifest, destination: string): Packed {
  const directory = join(ROOT, folder);
  const staged = mkdtempSync(join(tmpdir(), 'tidemark-pack-'));
  try {
    for (const { path } of npmPack(directory, ['--dry-run']).files) {
      mkdirSync(dirname(join(staged, path)), { recursive: true });
      cpSync(join(directory, path), join(staged, path));
    }
    cpSync(join(ROOT, 'LICENSE'), join(staged, 'LICENSE'));
    const manifest = publishedManifest(completed(readManifest(directory), shared, folder) as unknown as Manifest);
    writeFileSync(join(staged, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
    const { name, version, filename, files, unpackedSize } = npmPack(staged, ['--pack-destination', destination]);
    // Some versions of npm print the name with its scope, which is not part of the file name.
    const tarball = join(destination, filename.replace('@', '').replace('/', '-'));
    return { name, version, tarball, files: files.map(({ path }) => path), unpackedBytes: unpackedSize };
  } finally {
    rmSync(staged, { recursive: true, force: true });
  }
}

/** Returns a manifest without the fields that matter only in this repository. */
export function publishedManifest(manifest: Manifest): Omit<Manifest, 'scripts' | 'devDependencies'> {
  const { scripts: _, devDependencies: __, exports = {}, ...rest } = manifest;
  const published = Object.entries(exports).map(([subpath, { 'tidemark-source': ___, ...conditions }]) => [
    subpath,
    conditions,
  ]);
  return { ...rest, exports: Object.fromEntries(published) as NonNullable<Manifest['exports']> };
}

function npmPack(directory: string, args: string[]): NpmPack {
  const node = dirname(process.execPath);
  const output = execFileSync('npm', ['pack', '--json', '--ignore-scripts', ...args], {
    cwd: directory,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, PATH: `${node}:${process.env.PATH}` },
  });
  return (JSON.parse(output) as NpmPack[])[0]!;
}
