/** Starts writers as separate processes, which write their notes directly to a file, and kills them. */
import { type ChildProcess, spawn } from 'node:child_process';
import { closeSync, openSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { SOURCE_FLAGS } from '../scripts/processes.ts';

/** A writer process. Keeps its standard error. */
export class WriterProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  errors = '';

  /** Starts `faults/<script>.ts` under `wrapper` (strace, for example) and appends its notes to a file. */
  constructor(script: string, args: readonly string[], notesFile: string, wrapper: readonly string[] = []) {
    const notes = openSync(notesFile, 'a');
    const node = [process.execPath, ...SOURCE_FLAGS, join(import.meta.dirname, `${script}.ts`), ...args];
    const [program, ...rest] = [...wrapper, ...node] as [string, ...string[]];
    this.#child = spawn(program, rest, { stdio: ['ignore', notes, 'pipe'] });
    closeSync(notes);
    this.#child.stderr!.setEncoding('utf8').on('data', (text) => (this.errors += text));
    this.#ended = new Promise((resolve, reject) => {
      this.#child.once('error', reject);
      this.#child.once('close', () => resolve());
    });
  }

  /** Stops the process immediately, without a chance to sync anything. */
  freeze(): void {
    this.#child.kill('SIGSTOP');
  }

  /** Resumes the process as if no time had passed. */
  thaw(): void {
    this.#child.kill('SIGCONT');
  }

  /** Asks the process to finish its current writes, and waits until it has exited. */
  async stop(): Promise<void> {
    this.#child.kill('SIGTERM');
    await this.#ended;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }

  /** Waits until the process exits without being killed and returns its exit code. */
  async end(): Promise<number | null> {
    await this.#ended;
    return this.#child.exitCode;
  }

  /** Throws if the process has exited, because its error matters more than anything that follows. */
  expectRunning(): void {
    if (this.#child.exitCode !== null) throw new Error(`The writer ended with ${this.#child.exitCode}: ${this.errors}`);
  }

  /** Waits until the process has written a new note. */
  async hasWritten(notesFile: string, before: number, limitMs = 60_000): Promise<void> {
    const limit = Date.now() + limitMs;
    while (statSync(notesFile).size <= before) {
      this.expectRunning();
      if (Date.now() > limit) throw new Error(`The writer noted nothing for ${limitMs} ms: ${this.errors}`);
      await sleep(5);
    }
  }
}
