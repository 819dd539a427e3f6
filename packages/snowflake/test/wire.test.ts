/** The client of the SQL API: tokens, retries, and what it reports. */
import { createPrivateKey, generateKeyPairSync } from 'node:crypto';
import { expect, test } from 'vitest';
import { createSnowflakeSink, migrateSnowflake } from '../src/index.ts';
import { MIGRATIONS } from '../src/schema/migrations.ts';
import { migrate } from '../src/schema/schema.ts';
import { apiOf, startFake } from './setting.ts';
import { newStore } from './sinks.ts';

const COUNT = 'SELECT COUNT(*) AS N FROM ANALYTICS.TIDEMARK.RUN_REMOVALS';
const INSERT = `INSERT INTO ANALYTICS.TIDEMARK.RUN_REMOVALS VALUES ('t', 'r', 1, 1, CURRENT_TIMESTAMP)`;

test.each([
  ['replies', { replyLost: 0.5 }],
  ['requests', { requestLost: 0.5 }],
  ['replies to statements that run later', { later: 1, delayMs: 20, replyLost: 0.3 }],
  ['replies behind refusals', { throttled: 0.3, unavailable: 0.3, replyLost: 0.3 }],
])('runs a statement once although %s are lost', async (_, faults) => {
  const { account, fake } = await startFake();
  fake.faults = faults;
  const api = apiOf(account);
  for (let n = 0; n < 10; n++) await api.run(INSERT);
  fake.faults = {};
  expect((await api.run(COUNT)).rows).toEqual([['10']]);
  expect(api.retries + fake.seen.later).toBeGreaterThan(0);
});

test('accepts an encrypted key, and renews a token that was revoked', async () => {
  const { account, fake } = await startFake();
  const key = createPrivateKey(account.key as string).export({
    ...{ type: 'pkcs8', format: 'pem', cipher: 'aes-256-cbc', passphrase: 'open sesame' },
  }) as string;
  const api = apiOf({ ...account, key, passphrase: 'open sesame' });
  await api.run(COUNT);
  expect(() => apiOf({ ...account, key })).toThrow(/passphrase/);
  fake.refuseBefore = Math.ceil(Date.now() / 1_000);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await api.run(COUNT);
  expect(fake.seen.refusedTokens).toBe(1);
});

test('names the fingerprint to compare when the key does not belong to the user', async () => {
  const { account } = await startFake();
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  const failing = apiOf({ ...account, key: privateKey }).run(COUNT);
  await expect(failing).rejects.toMatchObject({ code: 'UNAUTHENTICATED' });
  await expect(failing).rejects.toThrow(/RSA_PUBLIC_KEY_FP.*SHA256:/);
});

test('rejects keys and names that cannot be right, without printing them', () => {
  const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 1_024 });
  const base = { account: 'acme-test', user: 'u', key: privateKey, database: 'D' };
  expect(() => apiOf(base)).toThrow(/2048/);
  expect(() => apiOf({ ...base, key: 'secret' })).toThrow(/^(?!.*secret).*private RSA key/);
  const { privateKey: key } = generateKeyPairSync('rsa', { modulusLength: 2_048 });
  expect(() => apiOf({ ...base, key, database: 'D"; DROP' })).toThrow(/letters, digits/);
  expect(() => apiOf({ ...base, key, account: 'evil.example.com/' })).toThrow(/account identifier/);
});

test('creates tables again, adds columns, and rejects tables of a newer version', async () => {
  const { account, query } = await startFake({ migrated: false });
  const starting = createSnowflakeSink({ ...account, store: newStore() });
  await expect(starting).rejects.toMatchObject({ code: 'SCHEMA_MISMATCH', message: /tidemark sink migrate/ });
  expect(await migrateSnowflake(account)).toEqual({ from: 0, to: 1 });
  expect(await migrateSnowflake(account)).toEqual({ from: 1, to: 1 });
  const next = {
    version: 2,
    statements: (schemaName: string) => [`ALTER TABLE ${schemaName}.EVENT_LOG ADD COLUMN IF NOT EXISTS COST BIGINT`],
  };
  const later = () => migrate(apiOf(account), 'ANALYTICS.TIDEMARK', [...MIGRATIONS, next]);
  expect(await Promise.all([later(), later()])).toContainEqual({ from: 1, to: 2 });
  expect(await query('SELECT COST FROM ANALYTICS.TIDEMARK.EVENT_LOG')).toEqual([]);
  await expect(migrateSnowflake(account)).rejects.toMatchObject({ code: 'SCHEMA_MISMATCH', message: /Update/ });
  const tooOld = createSnowflakeSink({ ...account, store: newStore() });
  await expect(tooOld).rejects.toMatchObject({ code: 'SCHEMA_MISMATCH' });
});
