#!/usr/bin/env node
/**
 * The `tidemark` command: runs @tidemark/cli. If that package is missing, npx fetches it, or the command prints how to
 * install it.
 */
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import * as nodeModule from 'node:module';

/**
 * The exports of @tidemark/cli that are used here. Its types are not imported, because @tidemark/cli depends on this
 * package.
 */
interface CommandLine {
  processIo(): unknown;
  run(argv: readonly string[], io: unknown): Promise<number>;
}

const PACKAGE: string = '@tidemark/cli';

function isMissing(error: unknown, name: string): boolean {
  return (error as { code?: string }).code === 'ERR_MODULE_NOT_FOUND' && String(error).includes(`'${name}'`);
}

async function loadCommandLine(): Promise<CommandLine | null> {
  try {
    return (await import(PACKAGE)) as CommandLine;
  } catch (error) {
    if (isMissing(error, PACKAGE)) return null;
    throw error;
  }
}

/** Set in the environment of the second npx, so that a failed fetch is not repeated endlessly. */
const FETCHING = 'TIDEMARK_FETCHES_CLI';

/**
 * Returns the script of npm when `npx tidemark` runs this file, in which case @tidemark/cli is not installed and npx
 * may fetch it too.
 */
function npmOfNpx(): string | undefined {
  if (process.env.npm_command !== 'exec' || process.env[FETCHING]) return undefined;
  return process.env.npm_execpath?.replace(/npx-cli\.js$/, 'npm-cli.js');
}

/** Runs the same version of @tidemark/cli with `npm exec`, and returns its exit code. */
function runFetched(npm: string): Promise<number> {
  const { version } = JSON.parse(readFileSync(new URL('../package.json', import.meta.url), 'utf8'));
  const args = ['exec', '--yes', `--package=${PACKAGE}@${version}`, '--', 'tidemark', ...process.argv.slice(2)];
  const child = spawn(process.execPath, [npm, ...args], { stdio: 'inherit', env: { ...process.env, [FETCHING]: '1' } });
  // Ignored, because a terminal sends SIGINT to both processes.
  process.on('SIGINT', () => {});
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  return new Promise((resolve, reject) => child.once('error', reject).once('exit', (code) => resolve(code ?? 1)));
}

/**
 * Returns whether Node is new enough. If it is not, prints core's explanation, because on such a version the modules of
 * the command line could not even be linked.
 */
async function isNodeNewEnough(): Promise<boolean> {
  try {
    await import('@tidemark/core');
    return true;
  } catch (error) {
    if (isMissing(error, '@tidemark/core')) return true;
    console.error((error as Error).message);
    return false;
  }
}

nodeModule.enableCompileCache?.();
const isUsable = await isNodeNewEnough();
const commandLine = isUsable ? await loadCommandLine() : null;
if (!isUsable) {
  process.exitCode = 1;
} else if (commandLine) {
  process.exitCode = await commandLine.run(process.argv.slice(2), commandLine.processIo());
} else if (npmOfNpx() !== undefined) {
  process.exitCode = await runFetched(npmOfNpx()!);
} else {
  console.error(`The tidemark command needs the package ${PACKAGE}; install it with: npm install ${PACKAGE}`);
  process.exitCode = 1;
}
