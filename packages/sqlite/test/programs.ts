/** Runs programs on the sources in separate processes, for tests of several processes. */
import { type ChildProcess, spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { SOURCE_FLAGS } from '../../../scripts/processes.ts';

const ROOT = fileURLToPath(new URL('../../../', import.meta.url));

export interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

export interface Program {
  child: ChildProcess;
  ended: Promise<Ended>;
  /** Resolves once the program has printed the text. */
  said(text: string): Promise<void>;
}

/** Starts a script of this repository, or source text, under Node without vitest's settings. */
export function startNode(program: { script: string } | { source: string }, ...args: string[]): Program {
  const { NODE_OPTIONS: _, VITEST: __, ...env } = process.env;
  const what =
    'script' in program ? [program.script] : ['--input-type=module-typescript', '--eval', program.source, '--'];
  const child = spawn(process.execPath, [...SOURCE_FLAGS, ...what, ...args], {
    cwd: ROOT,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const output = { stdout: '', stderr: '' };
  const listeners = new Set<() => void>();
  child.stdout.setEncoding('utf8').on('data', (text) => {
    output.stdout += text;
    for (const listener of listeners) listener();
  });
  child.stderr.setEncoding('utf8').on('data', (text) => (output.stderr += text));
  const ended = new Promise<Ended>((resolve) => child.once('close', (code) => resolve({ code, ...output })));
  const said = (text: string) =>
    new Promise<void>((resolve, reject) => {
      const look = () => {
        if (!output.stdout.includes(text)) return;
        listeners.delete(look);
        resolve();
      };
      listeners.add(look);
      void ended.then(() => reject(new Error(`The program ended without saying ${text}: ${output.stderr}`)));
      look();
    });
  return { child, ended, said };
}
