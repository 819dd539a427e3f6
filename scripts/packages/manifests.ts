/**
 * Derives the fields that all packages share from the manifest of the repository, so that version, minimum Node,
 * licence and address are each declared once. `npm run docs` writes them.
 */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The fields of a package.json that our scripts read. */
export interface Manifest {
  name: string;
  version: string;
  private?: boolean;
  description?: string;
  license?: string;
  author?: string;
  keywords?: string[];
  repository?: { type: string; url: string; directory?: string };
  engines?: { node: string };
  exports?: Record<string, Record<string, string>>;
  bin?: Record<string, string>;
  files?: string[];
  sideEffects?: boolean | string[];
  scripts?: Record<string, string>;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
  peerDependencies?: Record<string, string>;
  peerDependenciesMeta?: Record<string, { optional: boolean }>;
  optionalDependencies?: Record<string, string>;
}

const DEPENDENCIES = ['dependencies', 'peerDependencies', 'devDependencies'] as const;

export function readManifest(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest;
}

/** Returns the folders of the packages, relative to the root and in order; only those on npm if `published`. */
export function packageFolders(root: string, { published = false } = {}): string[] {
  return globSync('packages/*/package.json', { cwd: root })
    .map((path) => dirname(path))
    .filter((folder) => !published || !readManifest(join(root, folder)).private)
    .sort();
}

/** Returns the web address of the repository. */
function homepageOf({ repository }: Manifest): string {
  return repository!.url.replace(/^git\+/, '').replace(/\.git$/, '');
}

/** Returns the lowest version of each part of a range: `22.13` and `23.5` for `^22.13 || >=23.5`. */
export function floorsOf(range: string): string[] {
  return range.split(' || ').map((part) => part.replace(/^\D+/, ''));
}

/** Returns the lowest version of Node that the packages support, such as `22.13`. */
export function floorOf({ engines }: Manifest): string {
  return floorsOf(engines!.node)[0]!;
}

/** Returns the manifest of a package with the shared fields of the repository. */
export function completed(own: Manifest, shared: Manifest, folder: string): Record<string, unknown> {
  const { name, private: isPrivate, description, exports, bin, files, sideEffects, keywords, ...rest } = own;
  const { version, license, engines, author, repository } = shared;
  const address = homepageOf(shared);
  const published = {
    keywords: [...new Set([...(shared.keywords ?? []), ...(keywords ?? [])])],
    homepage: `${address}/tree/main/${folder}#readme`,
    bugs: `${address}/issues`,
    repository: { ...repository!, directory: folder },
    author,
  };
  const contents = {
    ...(exports && { exports }),
    ...(bin && { bin }),
    ...(isPrivate ? {} : { files, sideEffects: sideEffects ?? false }),
  };
  return {
    ...{ name, version, ...(isPrivate && { private: isPrivate }), description },
    ...(isPrivate ? {} : published),
    ...{ license, type: 'module', engines },
    ...contents,
    ...(isPrivate
      ? {}
      : { publishConfig: { access: 'public' }, scripts: { prepack: 'node ../../scripts/run.js build' } }),
    ...dependenciesOf(rest as Manifest, version),
  };
}

/** Returns the dependencies of a package. Our own packages are pinned to exactly this version. */
function dependenciesOf(manifest: Manifest, version: string): Partial<Manifest> {
  const isOurs = (name: string) => name === 'tidemark' || name.startsWith('@tidemark/');
  const kinds = DEPENDENCIES.flatMap((kind) => {
    const entries = Object.entries(manifest[kind] ?? {});
    if (entries.length === 0) return [];
    return [[kind, Object.fromEntries(entries.map(([name, at]) => [name, isOurs(name) ? version : at]))]];
  });
  const { peerDependenciesMeta } = manifest;
  return { ...Object.fromEntries(kinds), ...(peerDependenciesMeta && { peerDependenciesMeta }) };
}

/** Returns the manifest of every package, the lock file and the Python client's manifest by path, as text. */
export function manifestPages(root: string, shared = readManifest(root)): [path: string, text: string][] {
  const manifests = packageFolders(root).map((folder): [string, string] => {
    const manifest = completed(readManifest(join(root, folder)), shared, folder);
    return [join(folder, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`];
  });
  const python = 'clients/python/pyproject.toml';
  return [
    ...manifests,
    ['package-lock.json', lockOf(readFileSync(join(root, 'package-lock.json'), 'utf8'), shared)],
    [python, readFileSync(join(root, python), 'utf8').replace(/^version = ".*"$/m, `version = "${shared.version}"`)],
  ];
}

/** Returns the lock file with the version and the range of Node of our packages. All others are kept. */
function lockOf(text: string, shared: Manifest): string {
  const lock = JSON.parse(text) as { version: string; packages: Record<string, Manifest> };
  const { version, engines } = shared;
  const packages = Object.entries(lock.packages).map(([path, entry]) => {
    const isOurs = path === '' || /^packages\/[^/]+$/.test(path);
    if (!isOurs) return [path, entry];
    const { peerDependenciesMeta: _, ...dependencies } = dependenciesOf(entry, version);
    return [path, { ...entry, version, ...(entry.engines && { engines }), ...dependencies }];
  });
  return `${JSON.stringify({ ...lock, version, packages: Object.fromEntries(packages) }, null, 2)}\n`;
}
