/** `checkpoint` and `verify --against`: they find changes to the database file that a chain cannot reveal (RUN-23). */
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { tidemark } from './command-line.ts';

const home = process.cwd();
const STORE = { TIDEMARK_STORE: 'sqlite:app.db' };
let directory: string;

const typed = (line: string, env: Record<string, string> = {}) => tidemark(line, { env: { ...STORE, ...env } });
const take = () => typed('checkpoint --to points.jsonl --key signing.key');
const compare = () => typed('verify --against points.jsonl --public-key signing.key.pub');

beforeEach(async () => {
  directory = realpathSync(mkdtempSync(join(tmpdir(), 'tidemark-checkpoint-')));
  process.chdir(directory);
  for (const runId of ['order-42', 'order-7'])
    for (const type of ['RunStarted', 'Progress', 'RunCompleted'])
      await typed(`runs append ${runId} --type ${type} --tenant acme`);
  expect((await typed('checkpoint keygen signing.key')).code).toBe(0);
  expect(await take()).toMatchObject({ code: 0, stderr: '' });
});
afterEach(() => {
  process.chdir(home);
  rmSync(directory, { recursive: true });
});

/** Changes the file as an attacker with access to the disk could. */
function tamper(...statements: string[]): void {
  const database = new DatabaseSync('app.db');
  const triggers = database.prepare("SELECT name FROM sqlite_schema WHERE type = 'trigger'").all();
  for (const { name } of triggers) database.exec(`DROP TRIGGER "${name}"`);
  for (const statement of statements) database.exec(statement);
  database.close();
}

const OF_ORDER = "run_id = 'order-42' AND tenant_id = 'acme'";
const REMOVED = [`DELETE FROM run_events WHERE ${OF_ORDER}`, `DELETE FROM runs WHERE ${OF_ORDER}`];

const CHANGES: Record<string, { statements: string[]; appended?: string[]; kind: string }> = {
  'a cut tail': {
    statements: [
      `DELETE FROM run_events WHERE ${OF_ORDER} AND run_seq = 3`,
      `UPDATE runs SET last_seq = 2, link = (SELECT link FROM run_events WHERE ${OF_ORDER} AND run_seq = 2) WHERE ${OF_ORDER}`,
    ],
    kind: 'cut',
  },
  'a replaced run': { statements: REMOVED, appended: ['RunStarted', 'Progress', 'RunFailed'], kind: 'replaced' },
  'a removal without a tombstone': { statements: REMOVED, kind: 'missing' },
  'a changed time': {
    statements: [
      `UPDATE run_events SET persisted_at = persisted_at + 60000 WHERE ${OF_ORDER} AND run_seq = 3`,
      `UPDATE runs SET updated_at = updated_at + 60000 WHERE ${OF_ORDER}`,
    ],
    kind: 'time',
  },
  'a changed event': {
    statements: [`UPDATE run_events SET event_type = 'Forged' WHERE ${OF_ORDER} AND run_seq = 2`],
    kind: 'damaged',
  },
};

describe('verify --against', () => {
  it.each(Object.entries(CHANGES))('finds %s', async (_, { statements, appended = [], kind }) => {
    tamper(...statements);
    for (const type of appended) await typed(`runs append order-42 --type ${type} --tenant acme`);
    const { code, stdout, stderr } = await compare();
    expect(code, stderr).toBe(6);
    expect(JSON.parse(stdout)).toMatchObject({ tenantId: 'acme', runId: 'order-42', kind });
    expect(stderr).toContain('Compared 2 runs: 0 removed, 1 with problems. Last checkpoint: number 1, ');
    expect((await typed('verify --against points.jsonl --public-key signing.key.pub -o id')).stdout).toBe('order-42\n');
  });

  it('accepts a store that has grown, and a deletion with its tombstone', async () => {
    await typed('runs append order-9 --type RunStarted --tenant acme');
    expect((await typed('runs delete order-7 --tenant acme --yes')).code).toBe(0);
    const { code, stdout, stderr } = await compare();
    expect([code, stdout]).toEqual([0, '']);
    expect(stderr).toContain('Compared 2 runs: 1 removed, 0 with problems.');
    expect(JSON.parse((await take()).stdout)).toMatchObject({ number: 2, runs: 3, changed: 2, damaged: 0 });
    expect((await compare()).code).toBe(0);
  });

  it('distinguishes a damaged file, a wrong key and a file without checkpoints from a changed store', async () => {
    await typed('checkpoint keygen other.key');
    const other = await typed('verify --against points.jsonl --public-key other.key.pub');
    expect([other.code, other.stderr]).toEqual([1, expect.stringContaining('not signed by this key')]);
    expect((await typed('checkpoint --to points.jsonl --key other.key')).code).toBe(1);
    expect((await typed('verify --against missing.jsonl --public-key signing.key.pub')).code).toBe(3);
    const text = readFileSync('points.jsonl', 'utf8');
    writeFileSync('points.jsonl', text.replace('"lastEventSeq":3', '"lastEventSeq":2'));
    expect((await compare()).code).toBe(1);
  });

  it.each([
    'verify --against points.jsonl',
    'verify --against points.jsonl --all --public-key signing.key.pub',
    'verify order-42 --against points.jsonl --public-key signing.key.pub',
    'verify order-42 --public-key signing.key.pub',
    'verify --against points.jsonl --public-key signing.key',
    'checkpoint --to points.jsonl --key signing.key.pub',
    'checkpoint --key signing.key',
    'checkpoint keygen signing.key',
  ])('rejects: %s', async (line) => {
    const before = readFileSync('points.jsonl', 'utf8');
    const { code, stderr } = await typed(line);
    expect(code, stderr).toBe(2);
    expect(readFileSync('points.jsonl', 'utf8')).toBe(before);
  });
});

describe('checkpoint', () => {
  it('lists damaged runs and still covers the others', async () => {
    tamper(`UPDATE run_events SET event_type = 'Forged' WHERE ${OF_ORDER} AND run_seq = 2`);
    tamper(`UPDATE runs SET updated_at = updated_at + 1 WHERE ${OF_ORDER}`);
    await typed('runs append order-9 --type RunStarted --tenant acme');
    const { code, stdout, stderr } = await take();
    expect(code).toBe(6);
    expect(JSON.parse(stdout)).toMatchObject({ number: 2, runs: 3, changed: 1, damaged: 1 });
    expect(stderr).toContain('acme/order-42 is damaged');
  });

  it('reads the keys from the environment', async () => {
    const [key, publicKey] = ['signing.key', 'signing.key.pub'].map((it) => readFileSync(it, 'utf8')) as [
      string,
      string,
    ];
    const written = [
      await typed('checkpoint --to points.jsonl', { TIDEMARK_CHECKPOINT_KEY: key }),
      await typed('checkpoint --to points.jsonl', { TIDEMARK_CHECKPOINT_KEY_FILE: 'signing.key' }),
    ];
    expect(written.map(({ stdout }) => JSON.parse(stdout).number)).toEqual([2, 3]);
    const PUBLIC = 'TIDEMARK_CHECKPOINT_PUBLIC_KEY';
    expect((await typed('verify --against points.jsonl', { [PUBLIC]: publicKey })).code).toBe(0);
    expect((await typed('verify --against points.jsonl', { [`${PUBLIC}_FILE`]: 'signing.key.pub' })).code).toBe(0);
  });

  it('never prints a private key', async () => {
    const key = readFileSync('signing.key', 'utf8');
    const secret = key.split('\n')[1]!;
    writeFileSync('broken.key', key.replace('MC4C', 'MC4D'));
    const lines = [
      'checkpoint --to a.jsonl --key broken.key',
      'verify --against points.jsonl --public-key signing.key',
    ];
    for (const line of [...lines, 'checkpoint keygen new.key', 'checkpoint --to b.jsonl', 'doctor']) {
      const { stdout, stderr } = await typed(line, { TIDEMARK_CHECKPOINT_KEY: key });
      expect(stdout + stderr, line).not.toContain(secret.slice(4));
    }
    expect(readFileSync('points.jsonl', 'utf8')).not.toContain(secret.slice(4));
    const mistaken = await typed('checkpoint --to c.jsonl', { TIDEMARK_CHECKPOINT_KEY: `x${key}`.replaceAll('-', '') });
    expect([mistaken.code, mistaken.stderr.includes(secret)]).toEqual([2, false]);
  });

  it.skipIf(process.platform === 'win32')(
    'makes a private key readable only by its owner, and warns about one that others can read',
    async () => {
      const mode = (path: string) => (statSync(path).mode & 0o777).toString(8);
      expect([mode('signing.key'), mode('points.jsonl')]).toEqual(['600', '600']);
      chmodSync('signing.key', 0o644);
      expect((await take()).stderr).toContain("chmod go= 'signing.key'");
      expect((await typed('doctor', { TIDEMARK_CHECKPOINT_KEY_FILE: 'signing.key' })).stdout).toContain(
        "'signing.key'",
      );
    },
  );
});
