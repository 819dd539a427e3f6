/** Passwords never appear in the output or in the process list, and files are readable only by their owner. */
import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tidemark } from './command-line.ts';

const SECRET = 'Qx7secret';
const home = process.cwd();
let directory: string;
beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'tidemark-secrets-')));
  process.chdir(directory);
});
afterEach(() => {
  process.chdir(home);
  rmSync(directory, { recursive: true });
});

/** Nothing listens on port 1 of this machine. */
const URLS: Record<string, string> = {
  'the user part': `postgres://ada:${SECRET}@127.0.0.1:1/app`,
  'the query': `postgres://127.0.0.1:1/app?user=ada&password=${SECRET}`,
  'the second host': `redis://127.0.0.1:1,ada:${SECRET}@127.0.0.1:1`,
  'an upper-case scheme': `POSTGRES://ada:${SECRET}@127.0.0.1:1/app`,
  'a NATS token': `nats://${SECRET}@127.0.0.1:1`,
  'a password with a slash': `postgres://ada:a/${SECRET}@127.0.0.1:1/app`,
  'a password with a question mark': `redis://:a?${SECRET}@127.0.0.1:1`,
  'a wrong port': `redis://ada:${SECRET}`,
  'a broken escape': `postgres://ada:%zz${SECRET}@127.0.0.1:1/app`,
  'an http login': `http://ada:${SECRET}@127.0.0.1:1`,
};

describe.each(Object.entries(URLS))('a password in %s', (_, url) => {
  it('is never printed', { timeout: 60_000 }, async () => {
    const env = { TIDEMARK_STORE: url, TIDEMARK_TARGET_STORE: url, TIDEMARK_TIMEOUT: '500ms' };
    const typed = ['context current', `context add db ${url}`, 'context list', 'context list -o table'];
    for (const line of [...typed, 'doctor', 'serve --port 0 --for 1ms', 'runs list', 'demo --dry-run'])
      await expectSilent(line, env);
    await expectSilent('copy --dry-run', { ...env, TIDEMARK_STORE: 'memory:' });
    await expectSilent('copy', { ...env, TIDEMARK_STORE: 'memory:' });
    await expectSilent(`copy ${url} extra ${url}`, { TIDEMARK_STORE: 'memory:' });
    await expectSilent(`runs list --store ${url} --context ${url}`);
    await expectSilent(`runs list --nope=${url}`);
    await expectSilent(`context add ${url} memory:`);
  });
});

async function expectSilent(line: string, env: Record<string, string> = {}): Promise<void> {
  const { stdout, stderr } = await tidemark(line, { env });
  expect(stdout + stderr, line).not.toContain(SECRET);
  expect(stdout + stderr, line).not.toBe('');
}

describe('a URL in a file', () => {
  it('names the store, the target of a copy and a new context', async () => {
    writeFileSync('url', 'sqlite:app.db\n');
    writeFileSync('target', 'sqlite:copy.db\n');
    await tidemark('runs append a --type RunStarted --store-file url');
    expect((await tidemark('runs list -o id', { env: { TIDEMARK_STORE_FILE: 'url' } })).stdout).toBe('a\n');
    expect((await tidemark('copy --store-file url --to-file target')).code).toBe(0);
    expect((await tidemark('runs list -o id --store sqlite:copy.db')).stdout).toBe('a\n');
    expect((await tidemark('context add kept --store-file url')).code).toBe(0);
    expect(JSON.parse((await tidemark('context current')).stdout)).toMatchObject({ from: 'context kept' });
    expect((await tidemark('context add nothing', { env: { TIDEMARK_STORE: '' } })).code).toBe(2);
  });

  it.each([
    ['runs list --store-file missing', 3],
    ['runs list --store-file two', 2],
    ['runs list --store-file empty', 2],
    ['runs list --store memory: --store-file two', 2],
    ['copy sqlite:x.db --to-file two', 2],
    ['copy', 2],
  ])('is rejected: %s', async (line, code) => {
    writeFileSync('two', `memory:\n${SECRET}`);
    writeFileSync('empty', '\n');
    const ended = await tidemark(line);
    expect(ended.code, ended.stderr).toBe(code);
    expect(ended.stderr).not.toContain(SECRET);
  });
});

describe('the process list', () => {
  it('is mentioned when --store has a password, and shows none with --store-file', async () => {
    const warned = await tidemark(`runs list --timeout 100ms --store ${URLS['the user part']}`);
    expect(warned.stderr).toContain('--store-file');
    expect((await tidemark('runs list --store sqlite:app.db')).stderr).not.toContain('--store-file');
    writeFileSync('url', URLS['the user part']!);
    chmodSync('url', 0o600);
    const program = join(import.meta.dirname, '../../../scripts/run.js');
    const child = spawn(
      process.execPath,
      [program, 'packages/cli/src/cli.ts', 'runs', 'list', '--store-file', join(directory, 'url')],
      {
        cwd: home,
        stdio: 'ignore',
      },
    );
    const listed = execFileSync('ps', ['-ww', '-o', 'args=', '-p', String(child.pid)]).toString();
    child.kill();
    expect(listed).toContain('--store-file');
    expect(listed).not.toContain(SECRET);
  });
});

describe.skipIf(process.platform === 'win32')('files', () => {
  const modeOf = (path: string) => (statSync(path).mode & 0o777).toString(8);

  it('are readable only by their owner, even when a leftover file was not', async () => {
    const before = process.umask(0);
    try {
      await tidemark('runs append r --type RunCompleted --store sqlite:deep/app.db');
      writeFileSync('out.jsonl.unfinished', '', { mode: 0o666 });
      await tidemark('runs export r --to out.jsonl --store sqlite:deep/app.db');
      await tidemark('archive run r --directory cold --yes --store sqlite:deep/app.db');
      await tidemark('backup copy.db --store sqlite:deep/app.db');
      await tidemark('context add here sqlite:deep/app.db');
      await tidemark('keys mint --to admin.key');
    } finally {
      process.umask(before);
    }
    expect(readFileSync('admin.key', 'utf8')).toMatch(/^tmk_/);
    const files = ['deep/app.db', 'out.jsonl', 'copy.db', 'config/tidemark/contexts.json', 'admin.key'];
    expect(files.map((file) => [file, modeOf(file)])).toEqual(files.map((file) => [file, '600']));
    for (const folder of ['deep', 'cold', 'cold/archive', 'config/tidemark'])
      expect([folder, modeOf(folder)]).toEqual([folder, '700']);
    const packs = execFileSync('find', ['cold', '-type', 'f', '-printf', '%m\n']).toString().trim().split('\n');
    expect(new Set(packs)).toEqual(new Set(['600']));
    expect((await tidemark('archive verify --directory cold')).stderr).not.toContain('chmod');
    chmodSync('cold', 0o755);
    expect((await tidemark('archive verify --directory cold')).stderr).toContain("chmod go= 'cold'");
  });

  it('that others can read are named by the doctor, with the command that fixes them', async () => {
    await tidemark('runs append r --type RunStarted --store sqlite:app.db');
    writeFileSync('token', 'id.secret');
    chmodSync('token', 0o640);
    chmodSync('app.db', 0o644);
    const env = { TIDEMARK_STORE: 'sqlite:app.db', TIDEMARK_TOKEN_FILE: 'token' };
    const { stdout, stderr, code } = await tidemark('doctor', { env });
    expect(code).toBe(0);
    expect(stdout).toContain("chmod go= 'token'");
    expect(stdout).toMatch(/"check":"permissions","status":"warn".*chmod go= '.*app.db'/);
    expect(stderr).toContain('warnings: permissions, files with secrets');
  });
});
