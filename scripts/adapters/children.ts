/** Child processes of the tests of adapters: programs that report each acknowledged step on a line of their output. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';

/** A running program and the lines that it has written. */
export interface Child {
  process: ChildProcess;
  lines: string[];
  /** Resolves when the program has ended, with its exit code, or `null` if it was killed. */
  ended: Promise<number | null>;
  /** Resolves when the program has written this many lines. Rejects if it ends before. */
  written(count: number): Promise<void>;
}

/** Starts a program with the options of this process. */
export function startChild(program: string, ...args: string[]): Child {
  const child = spawn(process.execPath, [...process.execArgv, program, ...args], {
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const lines: string[] = [];
  let errors = '';
  child.stderr.on('data', (data: Buffer) => {
    errors += data.toString();
  });
  const output = createInterface({ input: child.stdout });
  output.on('line', (line) => lines.push(line));
  const ended = once(child, 'close').then(([code]) => {
    if (code !== 0 && code !== null) throw new Error(`${program} ended with ${code}: ${errors}`);
    return code as number | null;
  });
  ended.catch(() => {});
  return {
    process: child,
    lines,
    ended,
    async written(count) {
      while (lines.length < count) {
        const line = await Promise.race([once(output, 'line'), ended.then(() => null)]);
        if (line === null && lines.length < count) throw new Error(`${program} wrote ${lines.length} lines: ${errors}`);
      }
    },
  };
}
