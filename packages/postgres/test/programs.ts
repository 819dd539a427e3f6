/** Runs programs of this folder in separate processes and reads their standard output. */
import { type ChildProcess, spawn } from 'node:child_process';
import { join } from 'node:path';
import { SOURCE_FLAGS } from '../../../scripts/processes.ts';

export class Program {
  readonly child: ChildProcess;
  /** Resolves when the process has ended. Rejects when it ended with an error; a signal is not an error. */
  readonly ended: Promise<void>;
  output = '';
  errors = '';

  constructor(script: string, ...args: string[]) {
    const { NODE_OPTIONS: _, VITEST: __, ...env } = process.env;
    const path = join(import.meta.dirname, script);
    this.child = spawn(process.execPath, [...SOURCE_FLAGS, path, ...args], { env, stdio: ['pipe', 'pipe', 'pipe'] });
    this.child.stdin!.on('error', () => {});
    this.child.stdout!.setEncoding('utf8').on('data', (text) => (this.output += text));
    this.child.stderr!.setEncoding('utf8').on('data', (text) => (this.errors += text));
    this.ended = new Promise((resolve, reject) => {
      this.child.once('close', (code) => {
        if (code === 0 || code === null) resolve();
        else reject(new Error(`${script} ended with ${code}: ${this.errors}`));
      });
    });
    this.ended.catch(() => {});
  }

  /** Waits for a whole line that begins with this text and returns it. */
  async line(start: string): Promise<string> {
    const found = () =>
      this.output
        .split('\n')
        .slice(0, -1)
        .find((it) => it.startsWith(start));
    return new Promise((resolve, reject) => {
      const look = () => {
        const line = found();
        if (line !== undefined) resolve(line);
      };
      this.child.stdout!.on('data', look);
      this.child.once('close', () => reject(new Error(`The program ended without printing ${start}: ${this.errors}`)));
      look();
    });
  }

  writeLine(line: string): void {
    this.child.stdin!.write(`${line}\n`);
  }

  async kill(): Promise<void> {
    this.child.kill('SIGKILL');
    await this.ended;
  }
}
