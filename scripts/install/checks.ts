/** Checks the installed packages by using them like a new user. Each check throws with the output if it fails. */
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build, type Metafile } from 'esbuild';
import { build as buildWithVite } from 'vite';
import type { Packed } from '../packages/pack.ts';
import { runQuietly, whileServing } from '../processes.ts';
import { PATH_WITH_NODE, tenLines } from './project.ts';
import { startRegistry } from './registry.ts';

/** A program that runs JavaScript files. */
export interface Runtime {
  title: string;
  program: string;
  /** The arguments before the file. */
  args: readonly string[];
}

/** Limits of what a page loads at its start, minified and gzipped, by the program that is bundled. */
export const BROWSER_LIMITS = {
  /** Runs, kv, agents and artifacts. */
  'slim.js': 14 * 1024,
  /** The whole client. */
  'browser.js': 15 * 1024,
};
export type BrowserProgram = keyof typeof BROWSER_LIMITS;
const COMMAND = 'node_modules/tidemark/dist/cli.js';

/** Runs a file and returns its output, in which warnings would be visible. */
async function output({ program, args }: Runtime, cwd: string, file: string, ...rest: string[]): Promise<string> {
  const finished = await runQuietly(program, [...args, file, ...rest], { cwd, env: cleanEnv() });
  if (finished.code !== 0) throw new Error(`exit code ${finished.code}: ${finished.output}`);
  return finished.output;
}

/** Returns the environment without the flags of this process, which a user does not have. */
export function cleanEnv(): NodeJS.ProcessEnv {
  const { NODE_OPTIONS: _, ...env } = process.env;
  return { ...env, NO_COLOR: '1' };
}

/** Removes differences in how runtimes print objects: quotes, lines and trailing commas. */
function plain(text: string): string {
  return text.replaceAll('"', "'").replace(/,?\s+/g, ' ');
}

function expectText(actual: string, expected: string): void {
  if (plain(actual) !== plain(expected))
    throw new Error(`printed ${JSON.stringify(actual)} instead of ${JSON.stringify(expected)}`);
}

/**
 * Runs the ten lines of the README twice. The second run stores nothing new and prints the same, and no warnings are
 * printed.
 */
export async function runsTenLines(runtime: Runtime, directory: string): Promise<void> {
  rmSync(join(directory, '.tidemark'), { recursive: true, force: true });
  for (const _ of [1, 2]) expectText(await output(runtime, directory, 'ten.mjs'), tenLines().output);
}

/** On a Node that is not supported, the command must print only one sentence, and the library must throw with that sentence. */
export async function refusesNode({ program }: Runtime, directory: string): Promise<void> {
  const sentence = /^Tidemark needs Node [\d.]+ or newer, but not [\d.]+ to [\d.]+, and this is Node [\d.]+: .*\.\n$/;
  const command = await runQuietly(program, [COMMAND, 'runs', 'list'], { cwd: directory, env: cleanEnv() });
  if (command.code === 0 || !sentence.test(command.output)) throw new Error(command.output);
  const library = await runQuietly(program, ['ten.mjs'], { cwd: directory, env: cleanEnv() });
  if (library.code === 0 || !library.output.includes(`Error: ${command.output.trim()}`))
    throw new Error(library.output);
}

/** Runs `require`. Some versions of Node print that it is experimental for ES modules. */
export async function runsRequire(runtime: Runtime, directory: string): Promise<void> {
  const printed = await output(runtime, directory, 'ten.cjs');
  if (!plain(printed).includes(plain(tenLines().output))) throw new Error(printed);
}

export async function runsCommand(runtime: Runtime, directory: string): Promise<void> {
  const printed = await output(runtime, directory, COMMAND, 'runs', 'list', '--json');
  const runs = JSON.parse(printed) as { runId: string }[];
  expectText(runs.map(({ runId }) => runId).join(), 'order-42');
  const finished = await runQuietly(runtime.program, [...runtime.args, COMMAND, 'conformance', 'memory:'], {
    cwd: directory,
    env: cleanEnv(),
  });
  if (finished.code === 0 || !finished.output.includes('npm install @tidemark/conformance'))
    throw new Error(finished.output);
}

/** Runs `tidemark serve`, which must serve the inspector and the API, and exit on SIGTERM. */
export async function runsServer(runtime: Runtime, directory: string): Promise<void> {
  await serving(runtime, directory, async (address) => {
    const page = await (await fetch(address)).text();
    if (!page.includes('<script')) throw new Error(`no inspector: ${page.slice(0, 200)}`);
    const info = (await (await fetch(`${address}/v1/info`)).json()) as { backend?: string };
    if (!JSON.stringify(info).includes('sqlite')) throw new Error(JSON.stringify(info));
  });
}

/** Runs `tidemark serve` while `use` works with its address. */
function serving({ program, args }: Runtime, cwd: string, use: (address: string) => Promise<void>): Promise<void> {
  return whileServing(program, [...args, COMMAND, 'serve', '--port', '0'], { cwd, env: cleanEnv() }, use);
}

/**
 * Runs `npx tidemark demo` without anything installed: npx fetches the command line too, and the demo data can be read.
 */
export async function runsNpx(packed: readonly Packed[]): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-npx-'));
  const registry = await startRegistry(packed);
  const { npm_command: _, npm_execpath: __, ...env } = cleanEnv();
  const npm = { npm_config_cache: join(directory, 'cache'), npm_config_registry: registry.url };
  const npx = (...args: string[]) =>
    runQuietly('npx', ['--yes', 'tidemark', ...args], {
      cwd: directory,
      env: { ...env, ...npm, PATH: PATH_WITH_NODE },
    });
  try {
    const demo = await npx('demo');
    if (demo.code !== 0) throw new Error(demo.output);
    const shown = await npx('runs', 'show', 'order-42', '--json');
    if (shown.code !== 0 || !shown.output.includes('"order-42"')) throw new Error(shown.output);
  } finally {
    registry.close();
    rmSync(directory, { recursive: true, force: true });
  }
}

/** Runs the ten lines as a single bundled file, in a folder without packages. */
export async function runsBundle(runtime: Runtime, directory: string): Promise<void> {
  for (const format of ['esm', 'cjs'] as const) {
    const elsewhere = mkdtempSync(join(tmpdir(), 'tidemark-bundle-'));
    const file = format === 'esm' ? 'bundle.mjs' : 'bundle.cjs';
    await build({
      absWorkingDir: directory,
      entryPoints: [format === 'esm' ? 'ten.mjs' : 'ten.cjs'],
      outfile: join(elsewhere, file),
      ...{ bundle: true, platform: 'node', format, logLevel: 'silent' },
    });
    expectText(await output(runtime, elsewhere, file), tenLines().output);
    rmSync(elsewhere, { recursive: true, force: true });
  }
}

/** Runs the ten lines on each engine as one bundled file that holds every driver, in a folder without packages. */
export async function runsDrivers(runtime: Runtime, directory: string, urls: readonly string[]): Promise<void> {
  const elsewhere = mkdtempSync(join(tmpdir(), 'tidemark-drivers-'));
  const outfile = join(elsewhere, 'bundle.mjs');
  const require = "import { createRequire } from 'node:module'; const require = createRequire(import.meta.url);";
  await build({
    absWorkingDir: directory,
    entryPoints: ['any-engine.mjs'],
    outfile,
    // The drivers are CommonJS, and an ES module has no `require` for the modules of Node.
    banner: { js: require },
    ...{ bundle: true, platform: 'node', format: 'esm', logLevel: 'silent' },
  });
  for (const url of urls) {
    const env = { ...cleanEnv(), STORE: url };
    const finished = await runQuietly(runtime.program, [...runtime.args, outfile], { cwd: elsewhere, env });
    if (finished.code !== 0) throw new Error(`${new URL(url).protocol} ${finished.output}`);
    expectText(finished.output, tenLines().output);
  }
  rmSync(elsewhere, { recursive: true, force: true });
}

/** A function of a cloud provider: one minified file that exports a handler, which keeps its store in `/tmp`. */
export async function runsLambda(runtime: Runtime, directory: string): Promise<void> {
  for (const format of ['esm', 'cjs'] as const) {
    const elsewhere = mkdtempSync(join(tmpdir(), 'tidemark-lambda-'));
    const file = format === 'esm' ? 'index.mjs' : 'index.cjs';
    await build({
      absWorkingDir: directory,
      entryPoints: ['lambda.mjs'],
      outfile: join(elsewhere, file),
      ...{ bundle: true, minify: true, platform: 'node', target: 'node22', format, logLevel: 'silent' },
    });
    const printed = await output(runtime, directory, 'invoke.mjs', join(elsewhere, file), elsewhere);
    expectText(printed, '200 1 200 2\n');
    rmSync(elsewhere, { recursive: true, force: true });
  }
}

/** Runs the ten lines as Vite builds them for a server, with all packages bundled, in a folder without packages. */
export async function runsViteSsr(runtime: Runtime, directory: string): Promise<void> {
  const elsewhere = mkdtempSync(join(tmpdir(), 'tidemark-vite-'));
  await buildWithVite({
    root: directory,
    configFile: false,
    logLevel: 'silent',
    ssr: { noExternal: true },
    build: { ssr: 'ten.mjs', outDir: elsewhere, emptyOutDir: false },
  });
  expectText(await output(runtime, elsewhere, 'ten.js'), tenLines().output);
  rmSync(elsewhere, { recursive: true, force: true });
}

/**
 * Bundles a program for browsers, minified, with parts that are loaded on demand in files of their own. Uses the bundle
 * with a server, and returns the size of what a page loads at its start, each file gzipped.
 */
export async function browserBytes(runtime: Runtime, directory: string, program: BrowserProgram): Promise<number> {
  const folder = `bundled-${basename(program, '.js')}`;
  const { metafile } = await build({
    absWorkingDir: directory,
    entryPoints: [program],
    outdir: folder,
    metafile: true,
    ...{ bundle: true, splitting: true, platform: 'browser', format: 'esm', minify: true, logLevel: 'silent' },
  });
  const entry = join(folder, program);
  await serving(runtime, directory, async (address) =>
    expectText(
      await output(runtime, directory, 'use-bundle.mjs', join(directory, entry), address),
      'true 1 Ada 1 receipt\n',
    ),
  );
  const loaded = loadedWith(metafile, entry).map((file) => gzipSync(readFileSync(join(directory, file))).length);
  const bytes = loaded.reduce((sum, it) => sum + it, 0);
  const limit = BROWSER_LIMITS[program];
  if (bytes > limit) throw new Error(`${program}: ${bytes} bytes gzipped, more than ${limit}`);
  return bytes;
}

/** Returns a bundled file and all files that it imports statically. */
function loadedWith({ outputs }: Metafile, entry: string): string[] {
  const files = new Set([entry]);
  for (const file of files)
    for (const { path, kind } of outputs[file]!.imports) if (kind === 'import-statement') files.add(path);
  return [...files];
}

/** Compiles a program and the declarations of our packages that it imports; ignores problems of other packages. */
export async function compiles(compiler: string, directory: string, file = 'ten.ts'): Promise<void> {
  const folder = join(directory, 'types');
  mkdirSync(folder, { recursive: true });
  const compilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: false, exactOptionalPropertyTypes: true },
    ...{ module: 'nodenext', target: 'es2022', types: ['node'] },
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: [`../${file}`] }));
  const { output: printed } = await runQuietly(process.execPath, [compiler, '-p', folder], { cwd: directory });
  const ours = printed
    .split('\n')
    .filter((line) => line.includes(file) || /^(\S*node_modules\/(@tidemark\/|tidemark\/)|error)/.test(line));
  if (ours.length > 0) throw new Error(ours.join('\n'));
}
