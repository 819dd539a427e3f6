/** Selecting the store: flag, environment, context, default, in this order. Secrets are not printed. */
import { existsSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tidemark } from './command-line.ts';

const home = process.cwd();
let directory: string;
beforeEach(() => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'tidemark-settings-')));
  process.chdir(directory);
});
afterEach(() => {
  process.chdir(home);
  rmSync(directory, { recursive: true });
});

const current = async (line = '', env: Record<string, string> = {}) =>
  JSON.parse((await tidemark(`context current ${line}`, { env })).stdout);

describe('the store', () => {
  it('comes from the flag, then the environment, then the context, then the default', async () => {
    expect(await current()).toMatchObject({ store: 'sqlite:./.tidemark/state.db', from: 'default' });
    await tidemark('context add first sqlite:first.db');
    await tidemark('context add second sqlite:/second.db --tenant acme');
    expect(await current()).toMatchObject({ store: `sqlite:${directory}/first.db`, from: 'context first' });
    expect(await current('--context second')).toMatchObject({ from: 'context second', tenant: 'acme' });
    expect(await current('', { TIDEMARK_CONTEXT: 'second' })).toMatchObject({ from: 'context second' });
    const env = { TIDEMARK_STORE: 'sqlite:env.db', TIDEMARK_TENANT: 'globex' };
    expect(await current('', env)).toMatchObject({ store: 'sqlite:env.db', from: 'TIDEMARK_STORE', tenant: 'globex' });
    expect(await current('--store sqlite:flag.db --tenant initech', env)).toMatchObject({
      store: 'sqlite:flag.db',
      from: '--store',
      tenant: 'initech',
    });
    expect(await current('--context second', env)).toMatchObject({ from: 'context second', tenant: 'globex' });
  });

  it('is not created by commands that only read', async () => {
    expect(await tidemark('runs list --json')).toMatchObject({ code: 0, stdout: '[]\n' });
    expect(existsSync('.tidemark')).toBe(false);
    expect(await tidemark('runs list --store sqlite:typo.db')).toMatchObject({ code: 3, stdout: '' });
    expect((await tidemark('doctor')).code).toBe(3);
    expect(existsSync('typo.db')).toBe(false);
  });

  it('is restricted to the tenant', async () => {
    await tidemark('runs append a --type RunStarted --tenant acme');
    await tidemark('runs append b --type RunStarted --tenant globex');
    expect((await tidemark('runs list -o id --tenant acme')).stdout).toBe('a\n');
    expect((await tidemark('runs list -o id')).stdout.trim().split('\n').sort()).toEqual(['a', 'b']);
  });

  it('cannot be set with --store and --context together', async () => {
    expect((await tidemark('runs list --store memory: --context x')).code).toBe(2);
  });
});

describe('contexts', () => {
  it('are used, switched back with -, listed and removed', async () => {
    await tidemark('context add one sqlite:/one.db');
    await tidemark('context add two sqlite:/two.db');
    await tidemark('context use two');
    expect(JSON.parse((await tidemark('context use -')).stdout)).toEqual({ current: 'one' });
    expect(JSON.parse((await tidemark('context use -')).stdout)).toEqual({ current: 'two' });
    await tidemark('context rm two');
    expect((await tidemark('context list -o id')).stdout).toBe('one\n');
    expect(await current()).toMatchObject({ from: 'default' });
    expect((await tidemark('context use nowhere')).code).toBe(3);
  });

  it('are readable only by their owner, and never show a password', async () => {
    const { stdout } = await tidemark('context add db postgres://ada:secret@host/app');
    const list = await tidemark('context list');
    expect(stdout + list.stdout + JSON.stringify(await current())).not.toContain('secret');
    expect(list.stdout).toContain('postgres://***@host/app');
    const file = 'config/tidemark/contexts.json';
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(readFileSync(file, 'utf8')).toContain('secret');
  });

  it('do not inherit the tenant of the current context', async () => {
    await tidemark('context add one sqlite:/one.db --tenant acme');
    await tidemark('context add two sqlite:/two.db', { env: { TIDEMARK_TENANT: 'globex' } });
    expect(await current('--context two')).not.toHaveProperty('tenant');
  });

  it('store the name of a token file, not the token', async () => {
    writeFileSync('token', 'id.very-secret\n');
    await tidemark('context add server http://127.0.0.1:9 --token-file token');
    expect(await current()).toMatchObject({ token: 'set' });
    expect(readFileSync('config/tidemark/contexts.json', 'utf8')).not.toContain('very-secret');
    rmSync('token');
    expect((await tidemark('runs list')).code).toBe(4);
    expect((await tidemark('context rm server')).code).toBe(0);
  });

  it('fail when their file cannot be read, instead of using the default store', async () => {
    await tidemark('context add one sqlite:/one.db');
    writeFileSync('config/tidemark/contexts.json', '{ broken');
    expect(await tidemark('runs list')).toMatchObject({ code: 1, stderr: expect.stringContaining('contexts.json') });
  });
});

describe('an invalid command line', () => {
  it.each([
    ['runs lst', 'unknown command'],
    ['runs list --nope', 'unknown option'],
    ['runs show', 'missing required argument'],
    ['runs list --limit 0', 'at least 1'],
    ['runs list --status DONE', 'one of PENDING'],
    ['runs list --since yesterday', 'a time such as'],
    ['runs append r', '--type'],
    ['runs append r --type T --data {', '--data is not JSON'],
    ['runs append r --type T --data [1]', 'a JSON object'],
    ['jobs show nothing', 'type/id'],
    ['kv scan x --where state', 'a field'],
    ['runs list --store mysql://host', 'a URL that starts with'],
    ['runs list --timeout soon', '90s'],
    ['runs list -o yaml', 'one of table'],
  ])('%s exits with 2 and prints the reason', async (line, why) => {
    const { code, stdout, stderr } = await tidemark(line);
    expect(code, stderr).toBe(2);
    expect(stdout).toBe('');
    expect(stderr).toContain(why);
  });

  it('shows help and exits with 0 without arguments', async () => {
    const { code, stdout } = await tidemark('');
    expect(code).toBe(0);
    expect(stdout).toContain('Usage: tidemark');
  });
});
