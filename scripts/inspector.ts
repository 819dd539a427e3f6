/** Builds the page of the inspector into the package that serves it, or into another directory. */
import { join } from 'node:path';
import { build } from 'vite';
import { ROOT } from './processes.ts';

const PACKAGE = join(ROOT, 'packages/inspector');

export async function buildInspector(directory?: string): Promise<void> {
  await build({
    configFile: join(PACKAGE, 'vite.config.ts'),
    logLevel: 'warn',
    ...(directory === undefined ? {} : { build: { outDir: directory } }),
  });
}
