/** Lists the entry points of the published packages: the modules whose exports are the public API. */
import { globSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

export interface Entry {
  /** The specifier that users import, such as `@tidemark/core/engine`. */
  specifier: string;
  /** The folder of the package, relative to the root. */
  folder: string;
  /** The source file, relative to the root. */
  file: string;
}

interface Manifest {
  name: string;
  private?: boolean;
  exports?: Record<string, { 'tidemark-source'?: string }>;
}

/** Returns the entries of every package that is not private, in the order of folders and then of `exports`. */
export function publishedEntries(root: string): Entry[] {
  return globSync('packages/*/package.json', { cwd: root })
    .sort()
    .flatMap((path) => {
      const manifest: Manifest = JSON.parse(readFileSync(join(root, path), 'utf8'));
      if (manifest.private) return [];
      const folder = dirname(path);
      return Object.entries(manifest.exports ?? {}).flatMap(([subpath, { 'tidemark-source': source }]) =>
        source ? [{ specifier: join(manifest.name, subpath), folder, file: join(folder, source) }] : [],
      );
    });
}
