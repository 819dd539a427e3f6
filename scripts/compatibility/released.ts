/**
 * A released version as users have it: built, packed and installed from its commit, separate from the current sources.
 */
import { execFileSync } from 'node:child_process';
import { existsSync, globSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { ROOT } from '../processes.ts';

/** The last commit of each version. */
export const RELEASES = { '0.1': '70432de' } as const;

const CACHE = join(ROOT, 'node_modules/.cache/tidemark-releases');
/** The packages of a client, of a server, and of every engine. */
const NEEDED = ['core', 'sql', 'client', 'server', 'sqlite', 'postgres', 'redis', 'nats'];

/** Returns the folder in which the packages of a commit are installed. The first call takes about two minutes. */
export function installRelease(commit: string): string {
  const folder = join(CACHE, commit);
  if (NEEDED.every((name) => existsSync(join(folder, 'node_modules/@tidemark', name)))) return folder;
  rmSync(folder, { recursive: true, force: true });
  mkdirSync(CACHE, { recursive: true });
  const checkout = mkdtempSync(join(tmpdir(), 'tidemark-release-'));
  const unfinished = mkdtempSync(join(CACHE, 'unfinished-'));
  try {
    execFileSync('git', ['worktree', 'add', '--detach', '--force', checkout, commit], { cwd: ROOT, stdio: 'pipe' });
    npm(['ci', '--prefer-offline'], checkout);
    npm(['run', 'build'], checkout);
    for (const name of NEEDED) npm(['pack', '--pack-destination', unfinished], join(checkout, 'packages', name));
    writeFileSync(join(unfinished, 'package.json'), '{ "private": true, "type": "module" }\n');
    const packed = globSync('*.tgz', { cwd: unfinished }).map((it) => `./${basename(it)}`);
    npm(['install', '--prefer-offline', '--no-audit', '--no-fund', ...packed], unfinished);
    for (const manifest of globSync('node_modules/@tidemark/*/package.json', { cwd: unfinished }))
      useBuilt(join(unfinished, manifest));
    renameSync(unfinished, folder);
    return folder;
  } finally {
    execFileSync('git', ['worktree', 'remove', '--force', checkout], { cwd: ROOT, stdio: 'pipe' });
    rmSync(unfinished, { recursive: true, force: true });
  }
}

/** Returns the URL of a package of a release, to be imported. */
export function releasedUrl(folder: string, name: string): string {
  return pathToFileURL(join(folder, 'node_modules', name, 'dist/index.js')).href;
}

/** Imports a package of a release. */
export function importReleased<T>(folder: string, name: string): Promise<T> {
  return import(releasedUrl(folder, name)) as Promise<T>;
}

/**
 * Removes the condition for sources from a manifest. This process resolves packages to their sources, which packed ones
 * do not have.
 */
function useBuilt(file: string): void {
  const manifest = JSON.parse(readFileSync(file, 'utf8')) as { exports: Record<string, Record<string, string>> };
  for (const entry of Object.values(manifest.exports)) delete entry['tidemark-source'];
  writeFileSync(file, JSON.stringify(manifest));
}

function npm(args: string[], cwd: string): void {
  const node = dirname(process.execPath);
  execFileSync('npm', args, { cwd, stdio: 'pipe', env: { ...process.env, PATH: `${node}:${process.env.PATH}` } });
}
