/**
 * `npm run fixtures -- 0.1`: fills a store of every engine with the code of this checkout and keeps each, packed, with
 * its expected content. Run it once per release, in a checkout of the release; see docs/upgrades.md for the steps.
 */
import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, relative } from 'node:path';
import { gzipSync } from 'node:zlib';
import type { Store } from '@tidemark/core';
import { natsStore } from '@tidemark/nats';
import { type PostgresOptions, postgresStore } from '@tidemark/postgres';
import { redisStore } from '@tidemark/redis';
import { sqliteStore } from '@tidemark/sqlite';
import { fillStore } from './fixtures/content.ts';
import { fixtureFolder, runOrThrow } from './fixtures/packed.ts';
import { postgresClient } from './fixtures/postgres-client.ts';
import { readStore } from './fixtures/reading.ts';
import { ROOT } from './processes.ts';
import { startOwnServer } from './servers/index.ts';

const version = process.argv[2];
if (!version || !/^\d+\.\d+$/.test(version)) {
  console.error('Name the version that this checkout is: npm run fixtures -- 0.1');
  process.exit(2);
}

/** Fills the store, closes it, and records its content. The archive of its archived runs is stored next to it. */
async function fill(store: Store, directory: string): Promise<unknown> {
  const notes = await fillStore(store, join(directory, 'archive'));
  const contents = await readStore(store);
  await store.close();
  return { notes, contents };
}

function keep(engine: string, name: string, directory: string, expected: unknown): void {
  const folder = fixtureFolder(engine, version!);
  mkdirSync(folder, { recursive: true });
  const file = join(folder, `${name}.tar.gz`);
  runOrThrow('tar', ['--owner=0', '--group=0', '-czf', file, '-C', directory, '.']);
  writeFileSync(join(folder, `${name}.json.gz`), gzipSync(JSON.stringify(expected), { level: 9 }));
  console.log(`${relative(ROOT, file)}: ${Math.ceil(statSync(file).size / 1024)} KiB`);
}

async function inFolder(work: (directory: string) => Promise<void>): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), 'tidemark-fixture-'));
  try {
    await work(directory);
  } finally {
    rmSync(directory, { recursive: true, force: true });
  }
}

async function keepSqlite(directory: string): Promise<void> {
  keep('sqlite', 'store', directory, await fill(await sqliteStore(join(directory, 'store.db')), directory));
}

async function keepPostgres(name: string, options: Omit<PostgresOptions, 'url'>, directory: string): Promise<void> {
  const server = await startOwnServer('postgres');
  try {
    const expected = await fill(await postgresStore({ ...options, url: server.url }), directory);
    const file = join(directory, 'dump.sql');
    runOrThrow(postgresClient('pg_dump'), ['--no-owner', '--schema', 'tidemark', '--file', file, server.url]);
    keep('postgres', name, directory, expected);
  } finally {
    await server.stop();
  }
}

/** Keeps the files of a server, which is killed first so that they are in the state after a crash. */
async function keepServer(
  name: 'redis' | 'nats',
  open: (url: string) => Promise<Store>,
  files: string,
  directory: string,
): Promise<void> {
  const server = await startOwnServer(name);
  try {
    const expected = await fill(await open(server.url), directory);
    await server.kill!();
    runOrThrow('cp', ['-r', join(server.started!.directory, files), directory]);
    keep(name, 'store', directory, expected);
  } finally {
    await server.stop();
  }
}

await inFolder(keepSqlite);
await inFolder((directory) => keepPostgres('plain', {}, directory));
await inFolder((directory) => keepPostgres('confined', { partitions: 2, rowLevelSecurity: true }, directory));
await inFolder((directory) => keepServer('redis', (url) => redisStore({ url }), 'appendonlydir', directory));
await inFolder((directory) => keepServer('nats', (url) => natsStore({ url }), 'jetstream', directory));
