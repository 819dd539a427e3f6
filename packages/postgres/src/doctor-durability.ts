/** Doctor checks of what an acknowledged write survives (GEN-6, GEN-9). */
import { type Durability, TidemarkError } from '@tidemark/core';
import pg from 'pg';
import { SEE_OTHERS } from './doctor-sessions.ts';
import { all, type ExaminedServer, type Finding, ok, one, type Row, settingOf, withServer } from './examined-server.ts';
import type { Dialect } from './sql.ts';

/**
 * Returns what an acknowledged write survives. Every write commits with synchronous_commit on, regardless of the
 * defaults.
 */
export function durabilityOf(pool: pg.Pool, dialect: Dialect): Promise<Durability> {
  return withServer(pool, dialect, async (server) => {
    try {
      const settings = [await settingOf(server, 'fsync'), await settingOf(server, 'full_page_writes')];
      if (settings.includes(null)) return 'unknown';
      if (settings.includes('off') || (await unloggedTables(server)).length > 0) return 'process-crash';
      // Even if no standby is visible, the write is on this server's disk.
      return (await standbysOf(server)).following > 0 ? 'node-loss' : 'host-crash';
    } catch (error) {
      if (error instanceof pg.DatabaseError) return 'unknown';
      throw error;
    }
  });
}

export async function requireDurability(pool: pg.Pool, dialect: Dialect): Promise<void> {
  const durability = await durabilityOf(pool, dialect);
  if (durability === 'host-crash' || durability === 'node-loss') return;
  throw new TidemarkError(
    'DURABILITY_TOO_WEAK',
    durability === 'unknown'
      ? 'Whether the server keeps acknowledged writes in a power cut cannot be read: let this login read fsync and full_page_writes'
      : 'The server would lose acknowledged writes in a power cut: set fsync = on and full_page_writes = on, and make no table UNLOGGED',
    { current: durability },
  );
}

export async function mustBe(server: ExaminedServer, name: string, wanted: string, loss: string): Promise<Finding> {
  const setting = await settingOf(server, name);
  if (setting === null) return { status: 'unknown', message: `The server does not show ${name}` };
  if (setting === wanted) return ok(setting);
  const needsRestart = name === 'data_sync_retry';
  return {
    status: 'fail',
    message: `${name} is ${setting}: ${loss}`,
    fix: `ALTER SYSTEM SET ${name} = ${wanted}; ${needsRestart ? 'then restart the server' : 'SELECT pg_reload_conf()'}`,
  };
}

export async function dataChecksums(server: ExaminedServer): Promise<Finding> {
  const setting = await settingOf(server, 'data_checksums');
  if (setting === 'on') return ok('on');
  if (setting === null) return { status: 'unknown', message: 'The server does not show data_checksums' };
  return {
    status: 'warn',
    message: 'Data checksums are off: damage on the disk is found by runs.verify only, and in events only',
    fix: 'Stop the server and run pg_checksums --enable',
  };
}

export async function loggedTables(server: ExaminedServer): Promise<Finding> {
  const unlogged = await unloggedTables(server);
  if (unlogged.length === 0) return ok('every table is logged');
  return {
    status: 'fail',
    message: `UNLOGGED and empty after a crash: ${unlogged.join(', ')}`,
    fix: unlogged.map((table) => `ALTER TABLE ${server.schema}.${table} SET LOGGED`).join('; '),
  };
}

/**
 * Reports a default weaker than `on`. The store's own writes set synchronous_commit themselves, so the default affects
 * only callers' transactions that they join.
 */
export async function synchronousCommit(server: ExaminedServer): Promise<Finding> {
  const { effective } = await one(server, `SELECT current_setting('synchronous_commit') AS effective`);
  const overrides = await all(
    server,
    `SELECT split_part(entry, '=', 2) AS value, d.datname AS database, r.rolname AS role
     FROM pg_db_role_setting s CROSS JOIN unnest(s.setconfig) AS entry
     LEFT JOIN pg_database d ON d.oid = s.setdatabase LEFT JOIN pg_roles r ON r.oid = s.setrole
     WHERE entry LIKE 'synchronous\\_commit=%' AND (s.setdatabase = 0 OR d.datname = current_database())
     ORDER BY database, role`,
  );
  const weak = overrides.filter(({ value }) => !isSynced(value));
  if (isSynced(effective) && weak.length === 0) return ok(`${effective}, and stated by every write of the store`);
  const places = weak.map(
    ({ value, database, role }) =>
      `${value} for ${[role && `role ${role}`, database && `database ${database}`].filter(Boolean).join(' in ')}`,
  );
  return {
    status: 'warn',
    message: `synchronous_commit is ${places.length > 0 ? places.join(', ') : effective}: writes of the store state it themselves, but a transaction of yours that events join can be lost in a crash`,
    fix:
      weak.length > 0
        ? weak.map(resetOf).join('; ')
        : 'ALTER SYSTEM SET synchronous_commit = on; SELECT pg_reload_conf()',
  };
}

function isSynced(level: string): boolean {
  return level === 'on' || level === 'remote_apply';
}

function resetOf({ database, role }: Row): string {
  if (role === null) return `ALTER DATABASE ${database} RESET synchronous_commit`;
  return `ALTER ROLE ${role}${database === null ? '' : ` IN DATABASE ${database}`} RESET synchronous_commit`;
}

export async function synchronousStandbys(server: ExaminedServer): Promise<Finding> {
  const { names, following, hidden } = await standbysOf(server);
  if (names === null) return { status: 'unknown', message: 'The server does not show synchronous_standby_names' };
  if (names === '') return ok('none: acknowledged writes are on this server only, and go with its disk');
  if (following > 0) return ok(`${following} of ${names}: acknowledged writes are on another server too`);
  if (hidden > 0)
    return { status: 'unknown', message: `This login may not see whether one of ${names} follows`, fix: SEE_OTHERS };
  return {
    status: 'fail',
    message: `None of ${names} follows: every write waits until one does`,
    fix: 'Start a standby, or clear synchronous_standby_names and accept that the loss of this server loses data',
  };
}

async function unloggedTables(server: ExaminedServer): Promise<string[]> {
  const tables = await all(
    server,
    `SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r' AND relpersistence = 'u' ORDER BY relname`,
    [`"${server.schema}"`],
  );
  return tables.map(({ relname }) => relname);
}

/**
 * The standbys that commits wait for: how many are streaming, and how many of their sessions this login may not see.
 */
async function standbysOf(
  server: ExaminedServer,
): Promise<{ names: string | null; following: number; hidden: number }> {
  const names = await settingOf(server, 'synchronous_standby_names');
  if (!names) return { names, following: 0, hidden: 0 };
  const counts = await one(
    server,
    `SELECT count(*) FILTER (WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum')) AS following,
       count(*) FILTER (WHERE state IS NULL) AS hidden
     FROM pg_stat_replication`,
  );
  return { names, following: counts.following, hidden: counts.hidden };
}
