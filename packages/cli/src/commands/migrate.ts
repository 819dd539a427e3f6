/** `migrate`: prints, compares and updates the schema of SQL stores. */
import { existsSync } from 'node:fs';
import { TidemarkError } from '@tidemark/core';
import { missingPackage } from '@tidemark/core/engine';
import { at, state } from '../cells.ts';
import { defineCommand } from '../command.ts';
import { EXIT } from '../exit-codes.ts';
import { integer, text, toggle } from '../options.ts';
import type { View } from '../output.ts';
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

const isPostgres = (url: string) => /^postgres(ql)?:/.test(url);

function notSql(): TidemarkError {
  return new TidemarkError('UNSUPPORTED', 'Only sqlite: and postgres: stores have a schema; others need no migration');
}

const plan = defineCommand({
  name: 'migrate plan',
  summary: 'Print the SQL of the schema without connecting',
  effect: 'ro',
  options: {
    schema: text('name', 'PostgreSQL: the schema of the tables'),
    partitions: integer('n', 'PostgreSQL: number of hash partitions of runs', 1),
    rowLevelSecurity: toggle('PostgreSQL: with row-level security'),
    payloadIndex: toggle('PostgreSQL: with an index on payloads'),
  },
  examples: [
    { line: 'migrate plan', shows: 'CREATE TABLE run_events' },
    {
      line: 'migrate plan --store postgres://localhost/app?schema=state',
      shows: 'CREATE SCHEMA IF NOT EXISTS "state"',
    },
  ],
  async run({ out, settings, options }) {
    if (sqliteFile(settings.store) !== undefined) {
      const { loadMigrations } = await import('@tidemark/sqlite');
      for (const { version, name, sql } of loadMigrations()) await out.raw(`-- ${version} ${name}\n${sql.trim()}\n\n`);
      return;
    }
    if (!isPostgres(settings.store)) throw notSql();
    const { migrationScript } = await loadPostgres();
    const { schema, partitions, rowLevelSecurity, payloadIndex } = options;
    const chosen = { ...(schema === undefined ? {} : { schema }), ...(partitions === undefined ? {} : { partitions }) };
    const switches = { ...(rowLevelSecurity && { rowLevelSecurity }), ...(payloadIndex && { payloadIndex }) };
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

const status = defineCommand({
  name: 'migrate status',
  summary: 'Show which migrations were applied to a SQLite file',
  details: 'Exit code 6 when some are missing. For PostgreSQL, use `tidemark doctor`.',
  effect: 'ro',
  examples: [{ line: 'migrate status', shows: '"name":"runs"' }],
  async run({ out, settings }) {
    const file = sqliteFile(settings.store);
    if (file === undefined)
      throw isPostgres(settings.store)
        ? new TidemarkError('UNSUPPORTED', 'Use `tidemark doctor` for PostgreSQL')
        : notSql();
    const { appliedTimes, loadMigrations } = await import('@tidemark/sqlite');
    const applied = existsSync(file) ? appliedTimes(file) : new Map<number, number>();
    const all = loadMigrations().map(({ version, name }): Migration => {
      const time = applied.get(version);
      return { version, name, appliedAt: time === undefined ? null : new Date(time).toISOString() };
    });
    await out.list(all, MIGRATIONS, 'There are no migrations.');
    return all.some(({ appliedAt }) => appliedAt === null) ? EXIT.unmet : EXIT.ok;
  },
});

const up = defineCommand({
  name: 'migrate up',
  summary: 'Apply missing migrations to a store',
  details: 'Opening a store does the same. Use this to migrate in a separate deployment step.',
  effect: 'rw',
  examples: [
    { line: 'migrate up', shows: '"upToDate":true' },
    { line: 'migrate up --dry-run', shows: '"would":"migrate"' },
  ],
  async run({ out, settings, store, dryRun }) {
    if (sqliteFile(settings.store) === undefined && !isPostgres(settings.store)) throw notSql();
    if (dryRun) return out.report({ dryRun: true, would: 'migrate' });
    const { backend, version } = (await store()).info;
    await out.report({ backend, version, upToDate: true });
  },
});

export const migrateCommands = [plan, status, up];
