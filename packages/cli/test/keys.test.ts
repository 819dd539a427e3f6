/** Keys created on the command line: a server accepts them within their scopes until they are revoked. */
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { tidemark } from './command-line.ts';
import { makeSample, type Sample } from './sample.ts';

const home = process.cwd();
let sample: Sample;
beforeAll(async () => {
  sample = await makeSample();
});
beforeEach(() => process.chdir(sample.copy()));
afterEach(() => process.chdir(home));
afterAll(() => sample.remove());

/** Serves with --auth while `use` runs. */
async function serving(env: Record<string, string>, use: (url: string) => Promise<void>): Promise<void> {
  const stopped = new AbortController();
  let started: (url: string) => void;
  const url = new Promise<string>((done) => {
    started = done;
  });
  const ended = tidemark('serve --auth --port 0', {
    env,
    signal: stopped.signal,
    onOutput: (text) => started(JSON.parse(text).url),
  });
  try {
    await use(await url);
  } finally {
    stopped.abort();
    expect((await ended).code).toBe(0);
  }
}

describe('keys', () => {
  it('are accepted within their scopes until they are revoked', async () => {
    const made = JSON.parse((await tidemark('keys create worker --tenant acme --scope read')).stdout);
    await serving({}, async (TIDEMARK_STORE) => {
      const asked = (line: string, token: string) => tidemark(line, { env: { TIDEMARK_STORE, TIDEMARK_TOKEN: token } });
      expect((await asked('runs list -o id', made.key)).stdout).toBe('etl-1\n');
      expect((await asked('runs append etl-1 --type Note', made.key)).code).toBe(4);
      expect((await asked('runs list', 'tmk_0123456789abcdef.wrong')).code).toBe(4);
      expect((await tidemark(`keys revoke ${made.id} --yes`)).code).toBe(0);
      await new Promise((done) => setTimeout(done, 600));
      expect((await asked('runs list', made.key)).code).toBe(4);
    });
  });

  it('are listed without their secrets', async () => {
    const { key, id } = JSON.parse((await tidemark('keys create all --operator --scope admin --by ada')).stdout);
    const { stdout } = await tidemark('keys list');
    expect(JSON.parse(stdout)).toMatchObject({ id, name: 'all', tenantId: null, scopes: ['admin'] });
    expect(stdout).not.toContain(key.split('.')[1]);
  });

  it('are not needed with the admin key from the environment', async () => {
    const admin = (await tidemark('keys mint')).stdout.trim();
    await serving({ TIDEMARK_ADMIN_KEY: admin }, async (TIDEMARK_STORE) => {
      const { code } = await tidemark('runs list', { env: { TIDEMARK_STORE, TIDEMARK_TOKEN: admin } });
      expect(code).toBe(0);
    });
  });

  it('determine the tenant: serve --auth rejects --tenant', async () => {
    expect((await tidemark('serve --auth --tenant acme --port 0')).code).toBe(2);
  });
});
