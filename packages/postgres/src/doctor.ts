/**
 * Finds everything about a server and its settings that weakens durability, with the fix (GEN-6). A check without the
 * necessary information reports `unknown`.
 */
import type { DoctorFinding } from '@tidemark/core';
import type pg from 'pg';
import { dataChecksums, loggedTables, mustBe, synchronousCommit, synchronousStandbys } from './doctor-durability.ts';
import { appendOnly } from './doctor-guards.ts';
import { clock, connections, feedHorizon, idleTransactions, pooler } from './doctor-sessions.ts';
import { loginRole, rowLevelSecurity } from './doctor-tenants.ts';
import { type ExaminedServer, type Finding, ok, one, settingOf, unreadable, withServer } from './examined-server.ts';
import type { Dialect } from './sql.ts';

const OLDEST_VERSION = 14;

const CHECKS: Record<string, (server: ExaminedServer) => Promise<Finding>> = {
  'server version': serverVersion,
  encoding,
  primary,
  fsync: (server) => mustBe(server, 'fsync', 'on', 'a power cut loses acknowledged writes and damages the database'),
  full_page_writes: (server) =>
    mustBe(server, 'full_page_writes', 'on', 'a power cut can tear pages that hold acknowledged writes'),
  data_sync_retry: (server) =>
    mustBe(server, 'data_sync_retry', 'off', 'a failed sync is tried again and passes, although its data may be lost'),
  'data checksums': dataChecksums,
  'logged tables': loggedTables,
  synchronous_commit: synchronousCommit,
  'synchronous standbys': synchronousStandbys,
  'append-only': appendOnly,
  'row-level security': rowLevelSecurity,
  'login role': loginRole,
  'collation version': collationVersion,
  'idle transactions': idleTransactions,
  'feed horizon': feedHorizon,
  pooler,
  clock,
  connections,
};

export function examine(pool: pg.Pool, dialect: Dialect): Promise<DoctorFinding[]> {
  return withServer(pool, dialect, async (server) => {
    const findings: DoctorFinding[] = [];
    for (const [check, look] of Object.entries(CHECKS)) {
      findings.push({ check, ...(await look(server).catch(unreadable)) });
    }
    return findings;
  });
}

async function serverVersion(server: ExaminedServer): Promise<Finding> {
  const { version, number } = await one(
    server,
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number`,
  );
  if (number >= OLDEST_VERSION * 10_000) return ok(version);
  return {
    status: 'fail',
    message: `PostgreSQL ${version} is older than ${OLDEST_VERSION}, the oldest one that is tested`,
    fix: `Upgrade to PostgreSQL ${OLDEST_VERSION} or newer`,
  };
}

async function encoding(server: ExaminedServer): Promise<Finding> {
  const name = await settingOf(server, 'server_encoding');
  if (name === 'UTF8') return ok(name);
  return {
    status: 'fail',
    message: `The database is encoded in ${name}, which cannot hold every text`,
    fix: 'Create the database WITH ENCODING UTF8',
  };
}

async function primary(server: ExaminedServer): Promise<Finding> {
  const { replica } = await one(server, 'SELECT pg_is_in_recovery() AS replica');
  if (!replica) return ok('takes writes');
  return {
    status: 'fail',
    message: 'This server is a replica and takes no writes',
    fix: 'Connect to the primary, with a host name that follows failovers',
  };
}

async function collationVersion(server: ExaminedServer): Promise<Finding> {
  const { number } = await one(server, `SELECT current_setting('server_version_num')::int AS number`);
  if (number < 150_000)
    return {
      status: 'unknown',
      message: 'PostgreSQL 14 does not record it; the keys of the store are COLLATE "C" and do not depend on it',
    };
  const { database, recorded, actual } = await one(
    server,
    `SELECT datname AS database, datcollversion AS recorded, pg_database_collation_actual_version(oid) AS actual
     FROM pg_database WHERE datname = current_database()`,
  );
  if (recorded === actual) return ok(recorded ?? 'needs none');
  return {
    status: 'warn',
    message: `Indexes of text were built with collation version ${recorded}, the system now has ${actual}; the keys of the store are COLLATE "C" and not touched, other tables may be`,
    fix: `REINDEX DATABASE ${database}; ALTER DATABASE ${database} REFRESH COLLATION VERSION`,
  };
}
