/**
 * Snowflake as tests use it: a fake, or an account that `TIDEMARK_TEST_SNOWFLAKE_ACCOUNT`, `_USER`, `_KEY_FILE` and
 * `_DATABASE` name.
 */
import { generateKeyPairSync } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { onTestFinished } from 'vitest';
import { migrateSnowflake, type SnowflakeAccount } from '../src/index.ts';
import { readAccount } from '../src/options.ts';
import { SqlApi, type StatementResult } from '../src/sql-api.ts';
import type { Views } from './comparing.ts';
import { FakeSnowflake, type Faults } from './fake/server.ts';
import { Warehouse } from './fake/warehouse.ts';

/** Tables in Snowflake, or in a fake of it. */
export interface Setting extends Views {
  account: SnowflakeAccount;
  /** Waits for statements whose senders are gone. */
  settled: () => Promise<void>;
}

export interface FakeSetting extends Setting {
  fake: FakeSnowflake;
  warehouse: Warehouse;
}

export interface SettingOptions {
  faults?: Faults;
  random?: () => number;
  stages?: Record<string, string>;
  migrated?: boolean;
}

const VARIABLE = 'TIDEMARK_TEST_SNOWFLAKE';
const KEYS = generateKeyPairSync('rsa', { modulusLength: 2_048 });

/** Starts a fake, or uses the account that the environment names. */
export function startSetting(options: SettingOptions = {}): Promise<Setting> {
  return process.env[`${VARIABLE}_ACCOUNT`] === undefined ? startFake(options) : startSchema();
}

/** Creates a schema in the account that the environment names, and drops it when the test ends. */
async function startSchema(): Promise<Setting> {
  const [account, user, keyFile, database] = ['ACCOUNT', 'USER', 'KEY_FILE', 'DATABASE'].map((name) => {
    const value = process.env[`${VARIABLE}_${name}`];
    if (value === undefined) throw new Error(`Set ${VARIABLE}_${name}`);
    return value;
  }) as [string, string, string, string];
  const schema = `TIDEMARK_${crypto.randomUUID().replaceAll('-', '').toUpperCase()}`;
  const named: SnowflakeAccount = { account, user, key: readFileSync(keyFile, 'utf8'), database, schema };
  const schemaName = readAccount(named).schemaName;
  const api = apiOf(named);
  await api.run(`CREATE SCHEMA ${schemaName}`);
  onTestFinished(async () => void (await api.run(`DROP SCHEMA ${schemaName}`)));
  await migrateSnowflake(named);
  const query: Views['query'] = async (sql) => objectsOf(await api.run(sql));
  return { account: named, schemaName, query, settled: async () => {} };
}

function objectsOf({ columns, rows }: StatementResult) {
  return rows.map((row) => Object.fromEntries(row.map((it, at) => [columns[at]!, it])));
}

export async function startFake({
  stages = {},
  migrated = true,
  ...options
}: SettingOptions = {}): Promise<FakeSetting> {
  const warehouse = await Warehouse.open({ stages });
  const names = { account: 'acme-test', user: 'loader' };
  const fake = await FakeSnowflake.start({ ...options, faults: {}, ...names, warehouse, publicKey: KEYS.publicKey });
  onTestFinished(async () => {
    await fake.stop();
    warehouse.close();
  });
  const account: SnowflakeAccount = {
    ...names,
    key: KEYS.privateKey.export({ type: 'pkcs8', format: 'pem' }) as string,
    database: 'ANALYTICS',
    endpoint: fake.endpoint,
  };
  if (migrated) await migrateSnowflake(account);
  fake.faults = options.faults ?? {};
  const query: Views['query'] = async (sql) => objectsOf(await warehouse.run(sql));
  return { account, schemaName: 'ANALYTICS.TIDEMARK', query, settled: () => fake.settled(), fake, warehouse };
}

/** A client of the API for statements of the tests. */
export function apiOf(account: SnowflakeAccount): SqlApi {
  return new SqlApi(readAccount(account));
}

export async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  withinMs = 50_000,
): Promise<void> {
  const end = Date.now() + withinMs;
  while (!(await condition())) {
    if (Date.now() > end) throw new Error(`It did not happen within ${withinMs} ms: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
