/** `tidemark sink` against a wire-level fake of Snowflake. */
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { open } from 'tidemark';
import { expect, it, onTestFinished } from 'vitest';
import { startFake } from '../../snowflake/test/setting.ts';
import { tidemark } from './command-line.ts';

it('creates the tables, copies the stored events, and reports their number', async () => {
  const home = process.cwd();
  const folder = realpathSync(mkdtempSync(join(tmpdir(), 'tidemark-sink-')));
  onTestFinished(() => {
    process.chdir(home);
    rmSync(folder, { recursive: true });
  });
  process.chdir(folder);
  const { account, query } = await startFake({ migrated: false });
  writeFileSync('key.p8', account.key as string, { mode: 0o600 });
  const store = await open('sqlite:app.db');
  await store.runs.handle('order-42').append('RunStarted');
  await store.close();
  const options = `--account ${account.account} --user ${account.user} --database analytics --endpoint ${account.endpoint}`;

  const early = await tidemark(`sink snowflake ${options} --key-file key.p8 --store sqlite:app.db`);
  expect(early.code).not.toBe(0);
  expect(early.stderr).toContain('tidemark sink migrate');
  const migrated = await tidemark(`sink migrate ${options} --key-file key.p8`);
  expect(JSON.parse(migrated.stdout), migrated.stderr).toEqual({ from: 0, to: 1 });
  const env = { TIDEMARK_SNOWFLAKE_KEY_FILE: 'key.p8' };
  const copied = await tidemark(`sink snowflake ${options} --store sqlite:app.db --for 3s`, { env });
  expect(JSON.parse(copied.stdout), copied.stderr).toMatchObject({ loaded: 1, dead: 0 });
  expect(await query('SELECT RUN_ID, STATUS FROM ANALYTICS.TIDEMARK.RUNS')).toEqual([
    { RUN_ID: 'order-42', STATUS: 'RUNNING' },
  ]);
});
