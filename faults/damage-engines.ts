/** Engines whose files can be damaged: how to open and restore each, and which of its files hold data. */
import { execFileSync } from 'node:child_process';
import { cpSync, existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import type { Store, StoreOptions } from '@tidemark/core';
import { natsStore } from '@tidemark/nats';
import { postgresStore } from '@tidemark/postgres';
import { redisStore } from '@tidemark/redis';
import { sqliteStore } from '@tidemark/sqlite';
import pg from 'pg';
import { startOwnServer } from '../scripts/servers/index.ts';
import type { Target } from './damage-files.ts';

export interface DamagedEngine {
  open(options?: Pick<StoreOptions, 'onAlert'>): Promise<Store>;
  /** Called between rounds of writing, while the store is closed. Keeps a copy of the files. */
  settle(version: 'older' | 'newest'): Promise<void>;
  /** Restores all files. */
  restore(): Promise<void>;
  targets(): Target[];
  /** Opens the store on the current files. */
  reopen(): Promise<Store>;
  /** Whether a server that does not start on damaged files counts as a refusal. */
  refusesItself: boolean;
  remove(): Promise<void>;
}

export type EngineName = 'sqlite' | 'postgres' | 'redis' | 'nats';

export function damagedEngine(name: EngineName): Promise<DamagedEngine> {
  return name === 'sqlite' ? sqliteFiles() : serverFiles(name);
}

/** Returns all files in a folder, recursively. */
function filesIn(folder: string): string[] {
  if (!existsSync(folder)) return [];
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

async function sqliteFiles(): Promise<DamagedEngine> {
  const folder = mkdtempSync(join(tmpdir(), 'tidemark-damage-'));
  const [live, saved] = [join(folder, 'live'), join(folder, 'saved')];
  const file = join(live, 'state.db');
  let older: Buffer | undefined;
  const open: DamagedEngine['open'] = (options) => sqliteStore({ path: file, ...options });
  return {
    open,
    async settle(version) {
      const database = new DatabaseSync(file);
      database.exec('PRAGMA wal_checkpoint(TRUNCATE)');
      database.close();
      if (version === 'older') older = readFileSync(file);
      else cpSync(live, saved, { recursive: true });
    },
    async restore() {
      rmSync(live, { recursive: true, force: true });
      cpSync(saved, live, { recursive: true });
    },
    targets() {
      const artifacts = filesIn(live).filter((path) => !path.includes('state.db'));
      const database = Array<Target>(4 * artifacts.length || 1).fill({ path: file, older });
      return [...database, ...artifacts.map((path) => ({ path }))];
    },
    reopen: () => open(),
    refusesItself: false,
    remove: async () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function serverFiles(name: 'postgres' | 'redis' | 'nats'): Promise<DamagedEngine> {
  const server = await startOwnServer(name);
  const { directory } = server.started!;
  const live = join(directory, { postgres: 'data', redis: 'appendonlydir', nats: 'jetstream' }[name]);
  const saved = mkdtempSync(join(tmpdir(), 'tidemark-damage-'));
  const older = new Map<string, Buffer>();
  let names: string[] = [];
  const open: DamagedEngine['open'] = (options) => {
    const settings = { url: server.url, ...options };
    if (name === 'postgres') return postgresStore(settings);
    return name === 'redis' ? redisStore(settings) : natsStore(settings);
  };
  return {
    open,
    async settle(version) {
      if (name === 'postgres') names = await relationFiles(server.url, version === 'older');
      await server.kill!();
      if (name !== 'postgres')
        names = filesIn(live)
          .filter((path) => isData(name, path))
          .map((path) => path.slice(live.length + 1));
      if (version === 'older') for (const file of names) older.set(file, readFileSync(join(live, file)));
      else copyAll(live, join(saved, 'files'));
      await server.revive!();
    },
    async restore() {
      await server.kill!();
      rmSync(live, { recursive: true, force: true });
      copyAll(join(saved, 'files'), live);
    },
    targets: () =>
      names
        .map((file) => ({ path: join(live, file), older: older.get(file) }))
        .filter(({ path }) => existsSync(path) && statSync(path).size > 0),
    async reopen() {
      await server.revive!(0);
      return open();
    },
    refusesItself: true,
    async remove() {
      await server.stop();
      rmSync(saved, { recursive: true, force: true });
    },
  };
}

/** Returns whether a file holds values, and not the server's own metadata. */
function isData(name: 'redis' | 'nats', path: string): boolean {
  return name === 'redis' ? path.endsWith('.aof') : path.endsWith('.blk');
}

/** Returns the files of all tables and indexes of the store, including TOAST. */
async function relationFiles(url: string, isNew: boolean): Promise<string[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  // `doctor --deep` needs these to compare indexes with their tables.
  if (isNew) await client.query('CREATE EXTENSION amcheck; CREATE EXTENSION pageinspect');
  await client.query('CHECKPOINT');
  const { rows } = await client.query<{ path: string }>(`
    SELECT pg_relation_filepath(relation.oid) AS path
      FROM pg_class AS relation
     WHERE relation.relkind IN ('r', 'i', 't') AND pg_relation_filepath(relation.oid) IS NOT NULL AND (
       relation.relnamespace = 'tidemark'::regnamespace
       OR relation.oid IN (SELECT reltoastrelid FROM pg_class WHERE relnamespace = 'tidemark'::regnamespace)
     )`);
  await client.end();
  return rows.map(({ path }) => path);
}

/** Copies owners, permissions and times too, which servers check. */
function copyAll(from: string, to: string): void {
  execFileSync('cp', ['-a', from, to]);
}
