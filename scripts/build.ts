/**
 * `npm run build`: declarations by the compiler, one JavaScript file per entry of a package, the inspector's page and the documentation. A
 * package of many small files takes three times as long to load.
 */
import { globSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { pathToFileURL } from 'node:url';
import { type Plugin, rolldown } from 'rolldown';
import { buildInspector } from './inspector.ts';
import { floorOf, readManifest } from './packages/manifests.ts';
import { ROOT, runVisibly, toolPath } from './processes.ts';
import { buildSite, SITE } from './site/site.ts';

const SOURCE = 'tidemark-source';

interface Manifest {
  name: string;
  private?: boolean;
  exports?: Record<string, { [SOURCE]?: string; types?: string; default?: string }>;
  bin?: Record<string, string>;
}

/** Returns the source of each file that a package lists in `exports` and `bin`, by the name of that file in `dist`. */
function entriesOf({ exports = {}, bin = {} }: Manifest): Record<string, string> {
  const promised = Object.values(exports).flatMap((entry) => {
    const { [SOURCE]: source, default: target } = entry;
    return source && target ? [[nameIn(target), source] as const] : [];
  });
  const commands = Object.values(bin).map((target) => [nameIn(target), `./src/${nameIn(target)}.ts`] as const);
  return Object.fromEntries([...promised, ...commands]);
}

function nameIn(target: string): string {
  return target.replace(/^\.\/dist\//, '').replace(/\.js$/, '');
}

function manifestOf(directory: string): Manifest {
  return JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest;
}

/** Replaces `text-files.ts` of a package with the texts it reads, so that its bundles need no other files. */
const inlineTexts: Plugin = {
  name: 'inline-texts',
  async load(id) {
    if (basename(id) !== 'text-files.ts') return null;
    const { TEXTS } = (await import(pathToFileURL(id).href)) as { TEXTS: Record<string, string> };
    return { code: `export const TEXTS = ${JSON.stringify(TEXTS)};`, moduleType: 'js' };
  },
};

async function bundle(directory: string): Promise<void> {
  const manifest = manifestOf(directory);
  const entries = entriesOf(manifest);
  if (Object.keys(entries).length === 0) return;
  const build = await rolldown({
    cwd: directory,
    input: entries,
    platform: 'node',
    plugins: [inlineTexts],
    resolve: { conditionNames: [SOURCE, 'import', 'default'] },
    // Rewrites newer syntax of the sources, such as `await using`, for the oldest Node that we support.
    transform: { target: `node${floorOf(readManifest(ROOT))}` },
    // Files of other packages stay imports. Private packages are not published, so they are bundled.
    external: (id) => !id.startsWith('.') && !id.startsWith('/') && !isPrivate(id),
  });
  await build.write({
    dir: join(directory, 'dist'),
    format: 'esm',
    chunkFileNames: 'shared-[hash].js',
  });
  await build.close();
  console.log(`${basename(directory)}: ${Object.keys(entries).join(', ')}`);
}

/** Returns whether an import refers to one of our unpublished packages. */
function isPrivate(id: string): boolean {
  return privateNames.some((name) => id === name || id.startsWith(`${name}/`));
}

/**
 * Returns every declaration that users of a package can reach and that imports a private package, which they do not
 * have.
 */
function unreachableTypes(directory: string): string[] {
  const seen = new Set<string>();
  const leaks: string[] = [];
  const visit = (file: string) => {
    if (seen.has(file)) return;
    seen.add(file);
    for (const [, id] of readFileSync(file, 'utf8').matchAll(/(?:from |import\()['"]([^'"]+)['"]/g)) {
      if (id!.startsWith('.')) visit(resolve(dirname(file), id!.replace(/\.[jt]s$/, '.d.ts')));
      else if (isPrivate(id!)) leaks.push(`${file} imports ${id}`);
    }
  };
  for (const { types } of Object.values(manifestOf(directory).exports ?? {})) if (types) visit(join(directory, types));
  return leaks;
}

const packages = globSync('packages/*/package.json').map((manifest) => resolve(dirname(manifest)));
const privateNames = packages.map(manifestOf).flatMap((it) => (it.private ? [it.name] : []));
let code = await runVisibly(process.execPath, [toolPath('typescript', 'tsc'), '-b', ...packages]);
if (code === 0) {
  for (const directory of packages) {
    for (const stale of globSync(join(directory, 'dist/**/*.{js,map}'))) rmSync(stale);
    await bundle(directory);
  }
  const leaks = packages.filter((it) => !manifestOf(it).private).flatMap(unreachableTypes);
  for (const leak of leaks) console.error(leak);
  if (leaks.length > 0) code = 1;
  await buildInspector();
  buildSite(ROOT, SITE);
}
process.exitCode = code;
