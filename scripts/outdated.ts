/** Builds what programs in this clone load from `dist`, if it is missing or older than a source. */
import { existsSync, globSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { ROOT, runQuietly } from './processes.ts';

/**
 * Builds the page and the packages if a source is newer. The server runs from its sources, but a program in this clone
 * that imports `tidemark` gets the built package.
 */
export async function buildOutdated(): Promise<void> {
  const built = ['packages/server/inspector/index.html', 'packages/tidemark/dist/index.js', 'packages/cli/dist/cli.js'];
  const builtAt = built.map((file) => (existsSync(join(ROOT, file)) ? statSync(join(ROOT, file)).mtimeMs : 0));
  const sources = globSync('packages/*/{index.html,vite.config.ts,{src,public,migrations,scripts}/**/*.*}', {
    cwd: ROOT,
  });
  const newest = Math.max(...sources.map((source) => statSync(join(ROOT, source)).mtimeMs));
  if (newest <= Math.min(...builtAt)) return;
  const { code, output } = await runQuietly(process.execPath, [join(ROOT, 'scripts/run.js'), 'build']);
  if (code !== 0) throw new Error(output);
}
