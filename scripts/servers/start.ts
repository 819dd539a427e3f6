/**
 * Starts one server on free ports in a temporary directory, waits until it is ready, and stops exactly that process
 * again.
 */

import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { guardDirectory } from './guard.ts';
import type { Source } from './install.ts';
import type { Installation, ServerKind } from './kind.ts';
import { freePorts } from './ports.ts';

const READY_WITHIN_MS = 60_000;
const STOPPED_WITHIN_MS = 10_000;
/** Another process can take a free port before the server does. */
const ATTEMPTS = 3;

/** A server the tests can use. */
export interface RunningServer {
  url: string;
  version: string;
  /** Set if we started the server: its first process, directory and ports. */
  started?: { pid: number; directory: string; ports: number[] };
  /** Set if we started the server: ends it as a crash would, with SIGKILL. */
  kill?(): Promise<void>;
  /**
   * Set if we started the server: restarts it in its directory after `kill`. Retries for a minute, or for `withinMs`.
   */
  revive?(withinMs?: number): Promise<void>;
  /** Stops the server if we started it. A second call does nothing. */
  stop(): Promise<void>;
}

export async function startServer(kind: ServerKind, source: Source): Promise<RunningServer> {
  for (let attempt = 1; ; attempt++) {
    try {
      return await startOnce(kind, source);
    } catch (error) {
      if (attempt === ATTEMPTS) throw error;
    }
  }
}

async function startOnce(kind: ServerKind, source: Source): Promise<RunningServer> {
  const directory = mkdtempSync(join(tmpdir(), `tidemark-${kind.name}-`));
  const guard = guardDirectory(directory, kind.stopSignal);
  let child: ChildProcess | undefined;
  let stopping: Promise<void> | undefined;
  const stop = async () => {
    if (child) await stopProcess(child, kind.stopSignal);
    rmSync(directory, { recursive: true, force: true });
    guard.release();
  };

  try {
    const ports = await freePorts(kind.container.ports.length);
    const start = await prepareStart(kind, source, directory, ports);
    const url = kind.url(ports[0]!);
    const log = join(directory, 'server.log');
    child = await start();
    const pid = child.pid!;
    guard.watch(pid);
    const version = await untilReady(kind, url, child, log);
    const kill = () => stopProcess(child!, 'SIGKILL');
    const revive = (withinMs = READY_WITHIN_MS) =>
      eventually(withinMs, async () => {
        child = await start();
        guard.watch(child.pid!);
        await untilReady(kind, url, child, log);
      });
    return { url, version, started: { pid, directory, ports }, kill, revive, stop: () => (stopping ??= stop()) };
  } catch (error) {
    await stop();
    throw error;
  }
}

/**
 * Retries, because leftovers of a killed server, such as a process that is still ending, may block the next start for a
 * moment.
 */
async function eventually(withinMs: number, attempt: () => Promise<void>): Promise<void> {
  const deadline = performance.now() + withinMs;
  for (;;) {
    try {
      return await attempt();
    } catch (error) {
      if (performance.now() > deadline) throw error;
    }
    await sleep(100);
  }
}

/** Prepares the directory and returns a function that starts the server in it, any number of times. */
async function prepareStart(
  kind: ServerKind,
  source: Source,
  directory: string,
  ports: number[],
): Promise<() => Promise<ChildProcess>> {
  const user = kind.refusesRoot && source !== 'docker' ? ordinaryUser() : undefined;
  let program = 'docker';
  let args = dockerArgs(kind, ports);
  if (source !== 'docker') {
    if (user) chownSync(directory, user.uid, user.gid);
    const installation: Installation = { program: source.program, directory, ports, user };
    program = (await kind.prepare?.(installation)) ?? source.program;
    args = kind.serverArgs(installation);
  }
  return async () => {
    const log = openSync(join(directory, 'server.log'), 'a');
    // A separate session, so that Ctrl-C in the terminal does not stop the server while tests are still ending.
    const child = spawn(program, args, { cwd: directory, detached: true, stdio: ['ignore', log, log], ...user });
    closeSync(log);
    await once(child, 'spawn');
    child.unref();
    return child;
  };
}

function dockerArgs({ name, container }: ServerKind, ports: number[]): string[] {
  const published = container.ports.flatMap((port, index) => ['-p', `127.0.0.1:${ports[index]}:${port}`]);
  const environment = Object.entries(container.environment).flatMap(([key, value]) => ['-e', `${key}=${value}`]);
  const label = `tidemark-${name}-${ports[0]}`;
  return ['run', '--rm', '--name', label, ...published, ...environment, container.image!, ...container.args];
}

/** As root, returns the user `postgres` of Debian's package, otherwise `nobody`. */
function ordinaryUser(): { uid: number; gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    try {
      const id = (flag: string) => Number(execFileSync('id', [flag, name], { stdio: ['ignore', 'pipe', 'ignore'] }));
      return { uid: id('-u'), gid: id('-g') };
    } catch {}
  }
  throw new Error('This server refuses to run as root, and there is no user postgres or nobody to run it as.');
}

/** Probes until the server is ready. Throws with the end of its log when its process ends or time is up. */
async function untilReady(kind: ServerKind, url: string, child: ChildProcess, log: string): Promise<string> {
  const deadline = performance.now() + READY_WITHIN_MS;
  for (;;) {
    let problem: unknown;
    try {
      const version = await kind.probe(new URL(url));
      if (!hasEnded(child)) return version;
    } catch (error) {
      problem = error;
    }
    if (hasEnded(child) || performance.now() > deadline) {
      const tail = readFileSync(log, 'utf8').trimEnd().split('\n').slice(-20).join('\n');
      throw new Error(`${kind.title} did not start; the end of its log:\n${tail}`, { cause: problem });
    }
    await sleep(20);
  }
}

async function stopProcess(child: ChildProcess, signal: NodeJS.Signals): Promise<void> {
  if (hasEnded(child)) return;
  child.ref();
  const ended = once(child, 'exit');
  const killer = setTimeout(() => child.kill('SIGKILL'), STOPPED_WITHIN_MS);
  child.kill(signal);
  await ended;
  clearTimeout(killer);
}

function hasEnded(child: ChildProcess): boolean {
  return child.exitCode !== null || child.signalCode !== null;
}
