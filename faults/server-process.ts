/** Processes of the server rigs: the server itself, and programs that print their result as the last line. */
import { type ChildProcess, spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { SOURCE_FLAGS } from '../scripts/processes.ts';

/** Starts `faults/<script>.ts`. Its standard error is shown. */
function start(script: string, args: readonly string[]): ChildProcess {
  const command = [...SOURCE_FLAGS, join(import.meta.dirname, `${script}.ts`), ...args];
  return spawn(process.execPath, command, { stdio: ['pipe', 'pipe', 'inherit'] });
}

export class ServerProcess {
  readonly #child: ChildProcess;
  readonly #ended: Promise<void>;
  readonly url: string;

  private constructor(child: ChildProcess, url: string, ended: Promise<void>) {
    this.#child = child;
    this.url = url;
    this.#ended = ended;
  }

  /** Resolves once the server accepts connections. */
  static async start(path: string, port = 0, script = 'server-child'): Promise<ServerProcess> {
    const child = start(script, ['--path', path, '--port', String(port)]);
    const ended = new Promise<void>((resolve) => child.once('close', () => resolve()));
    const url = await new Promise<string>((resolve, reject) => {
      child.stdout!.setEncoding('utf8').once('data', (line: string) => resolve(line.trim()));
      void ended.then(() => reject(new Error(`The server ended with ${child.exitCode}`)));
    });
    return new ServerProcess(child, url, ended);
  }

  get port(): number {
    return Number(new URL(this.url).port);
  }

  /** The resident memory of the process, in megabytes. */
  get residentMb(): number {
    const status = readFileSync(`/proc/${this.#child.pid}/status`, 'utf8');
    return Number(/VmRSS:\s+(\d+) kB/.exec(status)![1]) / 1_024;
  }

  async kill(): Promise<void> {
    this.#child.kill('SIGKILL');
    await this.#ended;
  }
}

/** A program that prints `ready`, and its result as JSON once its standard input is closed. */
export class Watcher<Found> {
  readonly #child: ChildProcess;
  readonly #lines: Promise<string[]>;
  /** Resolves when the program has printed `ready`. */
  readonly ready: Promise<void>;

  constructor(script: string, args: readonly string[]) {
    this.#child = start(script, args);
    let output = '';
    const { promise, resolve, reject } = Promise.withResolvers<void>();
    this.ready = promise;
    this.#child.stdout!.setEncoding('utf8').on('data', (text: string) => {
      output += text;
      if (output.includes('ready\n')) resolve();
    });
    this.#lines = new Promise((done) =>
      this.#child.once('close', (code) => {
        reject(new Error(`${script} ended with ${code}`));
        done(output.trim().split('\n'));
      }),
    );
  }

  async end(): Promise<Found> {
    this.#child.stdin!.end();
    return JSON.parse((await this.#lines).at(-1)!) as Found;
  }
}
