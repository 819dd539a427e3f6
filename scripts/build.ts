/**
 * `npm run build`: declarations by the compiler, one JavaScript file per entry of a package, and the inspector's page. A
 * package of many small files takes three times as long to load.
 */
import { globSync, readFileSync, rmSync } from 'node:fs';
import { basename, dirname, join, resolve } from 'node:path';
import { rolldown } from 'rolldown';
import { buildInspector } from './inspector.ts';
import { runVisibly, toolPath } from './processes.ts';

const SOURCE = 'tidemark-source';

interface Manifest {
  exports?: Record<string, { [SOURCE]?: string; default?: string }>;
  bin?: Record<string, string>;
}

/** The source of each file a package promises in `exports` and `bin`, by the name of that file in `dist`. */
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

async function bundle(directory: string): Promise<void> {
  const manifest = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8')) as Manifest;
  const entries = entriesOf(manifest);
  if (Object.keys(entries).length === 0) return;
  const build = await rolldown({
    cwd: directory,
    input: entries,
    platform: 'node',
    // Whatever is not a file of this package is left to be imported.
    external: (id) => !id.startsWith('.') && !id.startsWith('/'),
  });
  await build.write({
    dir: join(directory, 'dist'),
    format: 'esm',
    sourcemap: true,
    chunkFileNames: 'shared-[hash].js',
  });
  await build.close();
  console.log(`${basename(directory)}: ${Object.keys(entries).join(', ')}`);
}

const packages = globSync('packages/*/package.json').map((manifest) => resolve(dirname(manifest)));
const code = await runVisibly(process.execPath, [toolPath('typescript', 'tsc'), '-b', ...packages]);
if (code === 0) {
  for (const directory of packages) {
    for (const stale of globSync(join(directory, 'dist/**/*.js'))) rmSync(stale);
    await bundle(directory);
  }
  await buildInspector();
}
process.exitCode = code;
