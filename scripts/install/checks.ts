/** Checks of the installed packages, as a new user would use them. Each throws with the output when it fails. */
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';
import type { Packed } from '../packages/pack.ts';
import { runQuietly } from '../processes.ts';
import { PATH_WITH_NODE, tenLines } from './project.ts';
import { startRegistry } from './registry.ts';

/** A program that runs JavaScript files. */
export interface Runtime {
  title: string;
  program: string;
  /** The arguments before the file. */
  args: readonly string[];
}

/** The goal for a browser bundle of the client, gzipped. It is not reached yet. */
export const BROWSER_GOAL_BYTES = 15 * 1024;
/** The size of a browser bundle today, rounded up. Until the goal is reached, it must not grow. */
export const BROWSER_LIMIT_BYTES = 23 * 1024;
const COMMAND = 'node_modules/tidemark/dist/cli.js';

/** Runs a file and returns its output, in which warnings would be visible. */
async function output({ program, args }: Runtime, cwd: string, file: string, ...rest: string[]): Promise<string> {
  const finished = await runQuietly(program, [...args, file, ...rest], { cwd, env: cleanEnv() });
  if (finished.code !== 0) throw new Error(`exit code ${finished.code}: ${finished.output}`);
  return finished.output;
}

/** Returns the environment without the flags of this process, which a user does not have. */
function cleanEnv(): NodeJS.ProcessEnv {
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

/** The ten lines of the README, twice: the second run stores nothing new and prints the same. No warning is printed. */
export async function runsTenLines(runtime: Runtime, directory: string): Promise<void> {
  rmSync(join(directory, '.tidemark'), { recursive: true, force: true });
  for (const _ of [1, 2]) expectText(await output(runtime, directory, 'ten.mjs'), tenLines().output);
}

/** `require`. Some versions of Node print that it is experimental for ES modules. */
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

/** `tidemark serve` answers with the inspector and the API, and ends on SIGTERM. */
export async function runsServer({ program, args }: Runtime, directory: string): Promise<void> {
  const child = spawn(program, [...args, COMMAND, 'serve', '--port', '0'], { cwd: directory, env: cleanEnv() });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    const address = await new Promise<string>((resolve, reject) => {
      let printed = '';
      const read = (text: Buffer) => {
        printed += text;
        const [found] = /http:\/\/127\.0\.0\.1:\d+/.exec(printed) ?? [];
        if (found) resolve(found);
      };
      child.stdout.on('data', read);
      child.stderr.on('data', read);
      child.once('error', reject).once('exit', () => reject(new Error(`the server ended: ${printed}`)));
    });
    const page = await (await fetch(address)).text();
    if (!page.includes('<script')) throw new Error(`no inspector: ${page.slice(0, 200)}`);
    const info = (await (await fetch(`${address}/v1/info`)).json()) as { backend?: string };
    if (!JSON.stringify(info).includes('sqlite')) throw new Error(JSON.stringify(info));
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}

/** `npx tidemark demo` where nothing is installed: npx fetches the command line too, and the demo data can be read. */
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

/** The ten lines as one file, in a folder without packages. */
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

/** Returns the size of a browser bundle of the client, minified and gzipped. */
export async function browserBytes(directory: string): Promise<number> {
  const outfile = join(directory, 'browser.bundle.js');
  await build({
    absWorkingDir: directory,
    entryPoints: ['browser.js'],
    outfile,
    ...{ bundle: true, platform: 'browser', format: 'esm', minify: true, logLevel: 'silent' },
  });
  return gzipSync(readFileSync(outfile)).length;
}

/** Compiles the ten lines and the declarations of our packages; problems of other packages are not ours. */
export async function compiles(compiler: string, directory: string): Promise<void> {
  const folder = join(directory, 'types');
  mkdirSync(folder, { recursive: true });
  const compilerOptions = {
    ...{ strict: true, noEmit: true, skipLibCheck: false, exactOptionalPropertyTypes: true },
    ...{ module: 'nodenext', target: 'es2022', types: ['node'] },
  };
  writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['../ten.ts'] }));
  const { output: printed } = await runQuietly(process.execPath, [compiler, '-p', folder], { cwd: directory });
  const ours = printed
    .split('\n')
    .filter((line) => /^(\S*ten\.ts|\S*node_modules\/(@tidemark\/|tidemark\/)|error)/.test(line));
  if (ours.length > 0) throw new Error(ours.join('\n'));
}
