/** Starts other programs from our scripts: the repository's own tools, with their output inherited or collected. */

import { type SpawnOptions, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The repository's root directory. */
export const ROOT = join(import.meta.dirname, '..');

/** The flags with which Node runs our sources directly. */
export const SOURCE_FLAGS: readonly string[] = [
  '--conditions=tidemark-source',
  '--disable-warning=ExperimentalWarning',
  ...(process.features.typescript ? [] : ['--experimental-strip-types']),
];

/**
 * Returns the script behind a command of an installed package, to be run with this Node and not with one from the PATH.
 */
export function toolPath(packageName: string, command: string): string {
  const directory = join(ROOT, 'node_modules', packageName);
  const { bin } = JSON.parse(readFileSync(join(directory, 'package.json'), 'utf8'));
  return join(directory, typeof bin === 'string' ? bin : bin[command]);
}

/**
 * Runs a program with our input and output and returns its exit code. A signal sent to us is forwarded, and throws here
 * once the program has ended, so that the caller can clean up.
 */
export async function runVisibly(program: string, args: string[], options: SpawnOptions = {}): Promise<number> {
  const child = spawn(program, args, { cwd: ROOT, stdio: 'inherit', ...options });
  let received: NodeJS.Signals | undefined;
  const passOn = (signal: NodeJS.Signals) => {
    received = signal;
    // In a terminal Ctrl-C also reaches the child; a second SIGINT would interrupt its clean-up.
    if (signal !== 'SIGINT' || !process.stdin.isTTY) child.kill(signal);
  };
  process.on('SIGINT', passOn).on('SIGTERM', passOn);
  try {
    const code = await new Promise<number>((resolve, reject) => {
      child.once('error', reject);
      child.once('exit', (exitCode) => resolve(exitCode ?? 1));
    });
    if (received) throw new Error(`Interrupted by ${received}.`);
    return code;
  } finally {
    process.off('SIGINT', passOn).off('SIGTERM', passOn);
  }
}

/** The output of a finished program. */
export interface Finished {
  code: number;
  output: string;
}

/**
 * Runs a program to its end and returns its exit code with all of its output. A program that cannot start has code 127.
 */
export function runQuietly(program: string, args: string[], options: SpawnOptions = {}): Promise<Finished> {
  return new Promise((resolve) => {
    const child = spawn(program, args, { cwd: ROOT, ...options, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    child.stdout?.setEncoding('utf8').on('data', (text) => (output += text));
    child.stderr?.setEncoding('utf8').on('data', (text) => (output += text));
    child.once('error', (error) => resolve({ code: 127, output: error.message }));
    child.once('close', (code) => resolve({ code: code ?? 1, output }));
  });
}

/** Runs a server while `use` works with the address that it prints. Ends it with SIGTERM. */
export async function whileServing(
  program: string,
  args: string[],
  options: SpawnOptions,
  use: (address: string) => Promise<void>,
): Promise<void> {
  const child = spawn(program, args, { ...options, stdio: ['ignore', 'pipe', 'pipe'] });
  const ended = new Promise((resolve) => child.once('exit', resolve));
  try {
    const port = await new Promise<string>((resolve, reject) => {
      let printed = '';
      const read = (text: string) => {
        printed += text;
        const [, found] = /http:\/\/[\w.]+:(\d+)/.exec(printed) ?? [];
        if (found) resolve(found);
      };
      child.stdout?.setEncoding('utf8').on('data', read);
      child.stderr?.setEncoding('utf8').on('data', read);
      child.once('error', reject).once('exit', () => reject(new Error(`the server ended: ${printed}`)));
    });
    await use(`http://127.0.0.1:${port}`);
  } finally {
    child.kill('SIGTERM');
    await ended;
  }
}
