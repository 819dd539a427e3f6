/** The command as a separate process: pipes, signals, exit codes, concurrency. */
import { type ChildProcess, spawn } from 'node:child_process';
import { cpSync, mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { open } from 'tidemark';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { SOURCE_FLAGS } from '../../../scripts/processes.ts';
import { VERSION } from '../src/version.ts';

const CLI = join(import.meta.dirname, '../src/cli.ts');
const FRONT = join(import.meta.dirname, '../../tidemark/src/cli.ts');

let directory: string;
const children: ChildProcess[] = [];
beforeEach(() => {
  directory = mkdtempSync(join(tmpdir(), 'tidemark-process-'));
});
afterEach(() => {
  for (const child of children.splice(0)) child.kill('SIGKILL');
  rmSync(directory, { recursive: true });
});

interface Ended {
  code: number | null;
  stdout: string;
  stderr: string;
}

function start(args: readonly string[], program = CLI) {
  const env = { ...process.env, XDG_CONFIG_HOME: directory };
  const child = spawn(process.execPath, [...SOURCE_FLAGS, program, ...args], {
    cwd: directory,
    env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  children.push(child);
  const printed = { stdout: '', stderr: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    printed.stdout += text;
  });
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    printed.stderr += text;
  });
  const ended = new Promise<Ended>((done) => child.once('close', (code) => done({ code, ...printed })));
  const waitForOutput = async (text: string) => {
    while (!printed.stdout.includes(text)) await new Promise((done) => setTimeout(done, 20));
    return printed.stdout;
  };
  return { child, ended, waitForOutput };
}

async function fill(events: number): Promise<void> {
  await using store = await open(`sqlite:${directory}/.tidemark/state.db`);
  const run = store.runs.handle('r');
  await Promise.all(Array.from({ length: events }, (_, at) => run.append('Tick', { text: 'x'.repeat(500), at })));
}

/** Starting a process takes seconds on a busy machine. */
const SLOW = { timeout: 90_000 };

describe('the program', SLOW, () => {
  it('prints JSON lines to a pipe and exits with the exit code', async () => {
    await fill(2);
    const { code, stdout, stderr } = await start(['runs', 'events', 'r']).ended;
    expect({ code, stderr }).toEqual({ code: 0, stderr: '' });
    expect(
      stdout
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).runSeq),
    ).toEqual([1, 2]);
    expect(await start(['runs', 'show', 'nobody']).ended).toMatchObject({ code: 3, stdout: '' });
  });

  it('exits with 0 when its reader closes the pipe', async () => {
    await fill(3_000);
    const { child, ended } = start(['runs', 'events', 'r']);
    child.stdout!.once('data', () => child.stdout!.destroy());
    expect(await ended).toMatchObject({ code: 0, stderr: '' });
  });

  it('ends a follow at Ctrl-C with 130 and prints how to resume', async () => {
    await fill(3);
    const { child, ended, waitForOutput } = start(['runs', 'events', 'r', '--follow']);
    await waitForOutput('"runSeq":3');
    child.kill('SIGINT');
    expect(await ended).toMatchObject({ code: 130, stderr: 'Stopped after 3; continue with --after-seq 3\n' });
  });

  it('stores an event once when several processes send it', async () => {
    const append = ['runs', 'append', 'r', '--type', 'Note', '--key', 'k', '--data', '{"a":1}'];
    const ended = await Promise.all([1, 2, 3].map(() => start(append).ended));
    const results = ended.map(({ stdout, stderr, code }) => {
      expect(code, stderr).toBe(0);
      return JSON.parse(stdout);
    });
    expect(results.filter(({ persisted }) => persisted)).toHaveLength(1);
    expect(new Set(results.map(({ runSeq }) => runSeq))).toEqual(new Set([1]));
  });

  it('serves other processes, and exits with 0 on SIGTERM', async () => {
    await fill(1);
    const { child, ended, waitForOutput } = start(['serve', '--port', '0']);
    const { url } = JSON.parse(await waitForOutput('\n'));
    const appended = await start(['runs', 'append', 'r', '--type', 'Note', '--store', url]).ended;
    expect(JSON.parse(appended.stdout)).toMatchObject({ runSeq: 2, persisted: true });
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
    expect((await start(['runs', 'list', '--store', url]).ended).code).toBe(7);
    expect(JSON.parse((await start(['runs', 'show', 'r']).ended).stdout)).toMatchObject({ lastEventSeq: 2 });
  });
});

describe('the command of the tidemark package', SLOW, () => {
  it('runs @tidemark/cli', async () => {
    expect(await start(['--version'], FRONT).ended).toMatchObject({ code: 0, stdout: `${VERSION}\n`, stderr: '' });
    expect((await start(['runs', 'show', 'nobody'], FRONT).ended).code).toBe(3);
  });

  it('prints how to install it when it is missing', async () => {
    const alone = join(directory, 'alone');
    mkdirSync(alone);
    cpSync(FRONT, join(alone, 'cli.ts'));
    const { code, stderr } = await start(['runs', 'list'], join(alone, 'cli.ts')).ended;
    expect(code).toBe(1);
    expect(stderr).toContain('npm install @tidemark/cli');
  });
});

describe('serve over TLS', () => {
  const certificates = join(import.meta.dirname, '../../../scripts/servers/certificates');
  const copy = (name: string, suffix: string) =>
    cpSync(join(certificates, `${name}.${suffix}`), join(directory, `tls.${suffix}`));

  function fingerprintOf(url: string): Promise<string> {
    const { hostname: host, port } = new URL(url);
    return new Promise((resolve, reject) => {
      const socket = connect({ host, port: Number(port), rejectUnauthorized: false }, () => {
        resolve(socket.getPeerCertificate().fingerprint256);
        socket.destroy();
      });
      socket.on('error', reject);
    });
  }

  it('reloads its certificate on SIGHUP', SLOW, async () => {
    for (const suffix of ['pem', 'key']) copy('server', suffix);
    const { child, ended, waitForOutput } = start([
      'serve',
      '--port',
      '0',
      '--tls-cert',
      'tls.pem',
      '--tls-key',
      'tls.key',
    ]);
    const url = JSON.parse(await waitForOutput('\n')).url as string;
    expect(url).toMatch(/^https:/);
    const before = await fingerprintOf(url);
    child.kill('SIGHUP');
    expect(await fingerprintOf(url)).toBe(before);
    for (const suffix of ['pem', 'key']) copy('client', suffix);
    child.kill('SIGHUP');
    await expect.poll(() => fingerprintOf(url)).not.toBe(before);
    child.kill('SIGTERM');
    expect((await ended).code).toBe(0);
  });
});
