/** `migrate`: prints, compares and updates the schema of SQL stores, and the tables of DynamoDB. */
import { existsSync } from 'node:fs';
import { TidemarkError } from '@tidemark/core';
import { missingPackage } from '@tidemark/core/engine';
import { at, state } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { choice, integer, text, toggle, withDefault } from '../options.ts';
import type { View } from '../output.ts';
import type { Settings } from '../settings.ts';
import { sqliteFile } from '../target.ts';

interface Migration {
  version: number;
  name: string;
  appliedAt: string | null;
}

const MIGRATIONS: View<Migration> = {
  columns: [
    { title: 'VERSION', of: ({ version }) => version },
    { title: 'NAME', of: ({ name }) => name },
    { title: 'STATE', of: ({ appliedAt }) => state(appliedAt === null ? 'pending' : 'ok') },
    { title: 'APPLIED', of: ({ appliedAt }) => at(appliedAt) },
  ],
  id: ({ version }) => String(version),
};

const isDynamoDb = (url: string) => /^dynamodb:/.test(url);
const isPostgres = (url: string) => /^postgres(ql)?:/.test(url);

function notSql(): TidemarkError {
  return new TidemarkError(
    'UNSUPPORTED',
    'Only sqlite:, postgres: and dynamodb: stores have a schema; others need no migration',
  );
}

const plan = defineCommand({
  name: 'migrate plan',
  summary: 'Print the SQL of the schema, or templates of the tables of DynamoDB, without connecting',
  effect: 'ro',
  options: {
    schema: text('name', 'PostgreSQL: the schema of the tables'),
    partitions: integer('n', 'PostgreSQL: number of hash partitions of runs', 1),
    rowLevelSecurity: toggle('PostgreSQL: with row-level security'),
    payloadIndex: toggle('PostgreSQL: with an index on payloads'),
    updateIndex: toggle('PostgreSQL: with an index of runs by their last update'),
    as: withDefault(choice(['cloudformation', 'terraform', 'iam'], 'DynamoDB: what to print'), 'cloudformation'),
  },
  examples: [
    { line: 'migrate plan', shows: 'CREATE TABLE run_events' },
    {
      line: 'migrate plan --store postgres://localhost/app?schema=state',
      shows: 'CREATE SCHEMA IF NOT EXISTS "state"',
    },
    {
      line: 'migrate plan --store dynamodb://eu-west-1/app --as terraform',
      shows: 'resource "aws_dynamodb_table" "tidemark_log"',
    },
    { line: 'migrate plan --store dynamodb://eu-west-1/app --as iam', shows: '"dynamodb:Query"' },
  ],
  async run({ out, settings, options }) {
    if (sqliteFile(settings.store) !== undefined) {
      const { loadMigrations } = await import('@tidemark/sqlite');
      for (const { version, name, sql } of loadMigrations()) await out.raw(`-- ${version} ${name}\n${sql.trim()}\n\n`);
      return;
    }
    if (isDynamoDb(settings.store)) return out.raw((await loadDynamoDb()).planOf(settings.store, options.as));
    if (!isPostgres(settings.store)) throw notSql();
    const { migrationScript } = await loadPostgres();
    const { schema, partitions, rowLevelSecurity, payloadIndex, updateIndex } = options;
    const chosen = { ...(schema === undefined ? {} : { schema }), ...(partitions === undefined ? {} : { partitions }) };
    const switches = {
      ...(rowLevelSecurity && { rowLevelSecurity }),
      ...(payloadIndex && { payloadIndex }),
      ...(updateIndex && { updateIndex }),
    };
    await out.raw(migrationScript({ url: settings.store, ...chosen, ...switches }));
  },
});

async function loadPostgres() {
  try {
    return await import('@tidemark/postgres');
  } catch (cause) {
    throw missingPackage(cause, '@tidemark/postgres', 'postgres:');
  }
}

async function loadDynamoDb() {
  try {
    return await import('@tidemark/dynamodb');
  } catch (cause) {
    throw missingPackage(cause, '@tidemark/dynamodb', 'dynamodb:');
  }
}

const status = defineCommand({
  name: 'migrate status',
  summary: 'Show which migrations were applied to a SQLite or PostgreSQL store',
  details: 'Exits with code 6 if any are missing. Changes nothing.',
  effect: 'ro',
  examples: [{ line: 'migrate status', shows: '"name":"runs"' }],
  async run({ out, settings }) {
    const all = await migrationsOf(settings);
    await out.list(all, MIGRATIONS, 'There are no migrations.');
    return all.some(({ appliedAt }) => appliedAt === null) ? EXIT.unmet : EXIT.ok;
  },
});

/**
 * Returns all migrations of a store with the time at which each was applied. Does not open the store, because opening
 * it would apply the migrations.
 */
async function migrationsOf({ store: url, timeoutMs }: Settings): Promise<Migration[]> {
  const file = sqliteFile(url);
  if (file !== undefined) {
    const { appliedTimes, loadMigrations } = await import('@tidemark/sqlite');
    const applied = existsSync(file) ? appliedTimes(file) : new Map<number, number>();
    return loadMigrations().map(({ version, name }) => {
      const time = applied.get(version);
      return { version, name, appliedAt: time === undefined ? null : new Date(time).toISOString() };
    });
  }
  if (!isPostgres(url)) throw notSql();
  const { migrationStatus } = await loadPostgres();
  return migrationStatus({ url, ...(timeoutMs !== undefined && { timeoutMs }) });
}

const up = defineCommand({
  name: 'migrate up',
  summary: 'Apply missing migrations and raise the format of a store',
  details:
    'Opening a store applies migrations too. The format is raised only here, or with the option `upgrade` of `open`: from then on new events have the newest chain format. Versions of the library that do not know it cannot open the store, or report the events as damaged, so stop their processes first. Processes of this version may continue.',
  effect: 'rw',
  examples: [
    { line: 'migrate up', shows: '"upToDate":true' },
    { line: 'migrate up --dry-run', shows: '"would":"migrate"' },
  ],
  async run({ out, settings, store, dryRun }) {
    if (/^https?:/.test(settings.store))
      throw new TidemarkError('UNSUPPORTED', 'A server does not migrate its store; use the URL of the store itself');
    if (dryRun) return out.report({ dryRun: true, would: 'migrate' });
    const { backend, version } = (await store({ upgrade: true })).info;
    await out.report({ backend, version, upToDate: true });
  },
});

export const migrateCommands = [plan, status, up];
