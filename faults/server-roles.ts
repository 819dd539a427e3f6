/** A server process with a key for each role, and its measurements. */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { createInterface, type Interface } from 'node:readline';
import { SOURCE_FLAGS } from '../scripts/processes.ts';

/** A key for each role. Anonymous callers have none. */
export type RoleTokens = Readonly<Record<string, string | null>>;

export interface ServerRoles {
  url: string;
  tokens: RoleTokens;
}

export interface ServerMeasures {
  /** The delay of the event loop since the last measurement. */
  delayMs: { median: number; p99: number; p999: number; most: number };
  /** The maximum so far. */
  heapBytes: number;
  residentBytes: number;
  heapLimitBytes: number;
}

export class RolesServer {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;
  readonly url: string;
  readonly tokens: RoleTokens;

  private constructor(child: ChildProcess, lines: AsyncIterator<string>, { url, tokens }: ServerRoles) {
    this.#child = child;
    this.#lines = lines;
    this.url = url;
    this.tokens = tokens;
  }

  /** Starts a server on a store. `heapMb` limits its heap. */
  static async start(storeUrl: string, heapMb?: number): Promise<RolesServer> {
    const flags = heapMb === undefined ? [] : [`--max-old-space-size=${heapMb}`];
    const command = [...SOURCE_FLAGS, ...flags, join(import.meta.dirname, 'server-roles-child.ts'), '--url', storeUrl];
    const child = spawn(process.execPath, command, { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = linesOf(createInterface(child.stdout!));
    const first = await lines.next();
    if (first.done) throw new Error('The server ended before it listened');
    return new RolesServer(child, lines, JSON.parse(first.value) as ServerRoles);
  }

  /** Resolves with undefined once the process is gone. */
  async measure(): Promise<ServerMeasures | undefined> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return undefined;
    this.#child.stdin!.write('\n');
    const line = await this.#lines.next();
    return line.done ? undefined : (JSON.parse(line.value) as ServerMeasures);
  }

  async stop(): Promise<void> {
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return;
    const ended = once(this.#child, 'exit');
    this.#child.stdin!.end();
    await ended;
  }
}

function linesOf(lines: Interface): AsyncIterator<string> {
  return lines[Symbol.asyncIterator]();
}

/** An idle process next to the server: on a busy machine it is delayed too, which is not the server's fault. */
export class IdleProcess {
  readonly #child: ChildProcess;
  readonly #lines: AsyncIterator<string>;

  private constructor(child: ChildProcess, lines: AsyncIterator<string>) {
    this.#child = child;
    this.#lines = lines;
  }

  static async start(): Promise<IdleProcess> {
    const command = [...SOURCE_FLAGS, join(import.meta.dirname, 'idle-child.ts')];
    const child = spawn(process.execPath, command, { stdio: ['pipe', 'pipe', 'inherit'] });
    const lines = linesOf(createInterface(child.stdout!));
    await lines.next();
    return new IdleProcess(child, lines);
  }

  /** Ends the process and returns the delay of its event loop (p99.9), in milliseconds. */
  async end(): Promise<number> {
    this.#child.stdin!.write('\n');
    const { value } = await this.#lines.next();
    this.#child.stdin!.end();
    return Number(value);
  }
}
