/** Everything about a server and its settings that weakens the promise, and how to mend it (GEN-6). What cannot be read is `unknown`. */
import { type DoctorFinding, type Durability, TidemarkError } from '@tidemark/core';
import pg from 'pg';
import type { Dialect } from './sql.ts';

const OLDEST_VERSION = 14;
/** An open transaction is worth a word from here on. */
const LONG_SECONDS = 10;
const CLOCK_OFFSET_MS = 1_000;
const MANY_CONNECTIONS = 0.8;
/** Shown to logins that may not look at the sessions of others, in place of what they run. */
const HIDDEN = "query = '<insufficient privilege>' AND datname IS NOT NULL";
const SEE_OTHERS = 'GRANT pg_read_all_stats to this login, to let it see the sessions of others';

type Finding = Omit<DoctorFinding, 'check'>;

/** The server under examination. */
interface Patient {
  pool: pg.Pool;
  client: pg.ClientBase;
  schema: string;
}

const CHECKS: Record<string, (patient: Patient) => Promise<Finding>> = {
  'server version': serverVersion,
  encoding,
  primary,
  fsync: (patient) => mustBe(patient, 'fsync', 'on', 'a power cut loses acknowledged writes and damages the database'),
  full_page_writes: (patient) =>
    mustBe(patient, 'full_page_writes', 'on', 'a power cut can tear pages that hold acknowledged writes'),
  data_sync_retry: (patient) =>
    mustBe(patient, 'data_sync_retry', 'off', 'a failed sync is tried again and passes, although its data may be lost'),
  'data checksums': dataChecksums,
  'logged tables': loggedTables,
  synchronous_commit: synchronousCommit,
  'synchronous standbys': synchronousStandbys,
  'row-level security': rowLevelSecurity,
  'login role': loginRole,
  'collation version': collationVersion,
  'idle transactions': idleTransactions,
  'feed horizon': feedHorizon,
  pooler,
  clock,
  connections,
};

export async function examine(pool: pg.Pool, dialect: Dialect): Promise<DoctorFinding[]> {
  const client = await pool.connect();
  try {
    const patient = { pool, client, schema: dialect.schema };
    const findings: DoctorFinding[] = [];
    for (const [check, look] of Object.entries(CHECKS))
      findings.push({ check, ...(await look(patient).catch(unreadable)) });
    return findings;
  } finally {
    client.release();
  }
}

/** What an acknowledged write survives: each is committed with synchronous_commit on, whatever the defaults say. */
export async function durabilityOf(pool: pg.Pool, dialect: Dialect): Promise<Durability> {
  const client = await pool.connect();
  try {
    const patient = { pool, client, schema: dialect.schema };
    const settings = [await settingOf(patient, 'fsync'), await settingOf(patient, 'full_page_writes')];
    if (settings.includes(null)) return 'unknown';
    if (settings.includes('off') || (await unloggedTables(patient)).length > 0) return 'process-crash';
    // Whether or not a standby can be seen from here, the disk of this server is known to hold the write.
    return (await standbysOf(patient)).following > 0 ? 'node-loss' : 'host-crash';
  } catch (error) {
    if (error instanceof pg.DatabaseError) return 'unknown';
    throw error;
  } finally {
    client.release();
  }
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

async function serverVersion(patient: Patient): Promise<Finding> {
  const { version, number } = await one(
    patient,
    `SELECT current_setting('server_version') AS version, current_setting('server_version_num')::int AS number`,
  );
  if (number >= OLDEST_VERSION * 10_000) return ok(version);
  return {
    status: 'fail',
    message: `PostgreSQL ${version} is older than ${OLDEST_VERSION}, the oldest one that is tested`,
    fix: `Upgrade to PostgreSQL ${OLDEST_VERSION} or newer`,
  };
}

async function encoding(patient: Patient): Promise<Finding> {
  const name = await settingOf(patient, 'server_encoding');
  if (name === 'UTF8') return ok(name);
  return {
    status: 'fail',
    message: `The database is encoded in ${name}, which cannot hold every text`,
    fix: 'Create the database WITH ENCODING UTF8',
  };
}

async function primary(patient: Patient): Promise<Finding> {
  const { replica } = await one(patient, 'SELECT pg_is_in_recovery() AS replica');
  if (!replica) return ok('takes writes');
  return {
    status: 'fail',
    message: 'This server is a replica and takes no writes',
    fix: 'Connect to the primary, by a name that follows it',
  };
}

async function mustBe(patient: Patient, name: string, wanted: string, loss: string): Promise<Finding> {
  const setting = await settingOf(patient, name);
  if (setting === null) return { status: 'unknown', message: `The server does not show ${name}` };
  if (setting === wanted) return ok(setting);
  const needsRestart = name === 'data_sync_retry';
  return {
    status: 'fail',
    message: `${name} is ${setting}: ${loss}`,
    fix: `ALTER SYSTEM SET ${name} = ${wanted}; ${needsRestart ? 'then restart the server' : 'SELECT pg_reload_conf()'}`,
  };
}

async function dataChecksums(patient: Patient): Promise<Finding> {
  const setting = await settingOf(patient, 'data_checksums');
  if (setting === 'on') return ok('on');
  if (setting === null) return { status: 'unknown', message: 'The server does not show data_checksums' };
  return {
    status: 'warn',
    message: 'Data checksums are off: damage on the disk is found by runs.verify only, and in events only',
    fix: 'Stop the server and run pg_checksums --enable',
  };
}

async function loggedTables(patient: Patient): Promise<Finding> {
  const unlogged = await unloggedTables(patient);
  if (unlogged.length === 0) return ok('every table is logged');
  return {
    status: 'fail',
    message: `UNLOGGED and empty after a crash: ${unlogged.join(', ')}`,
    fix: unlogged.map((table) => `ALTER TABLE ${patient.schema}.${table} SET LOGGED`).join('; '),
  };
}

/** Weaker than `on` where it matters: writes of the store state it themselves, so this is about transactions they join. */
async function synchronousCommit(patient: Patient): Promise<Finding> {
  const { effective } = await one(patient, `SELECT current_setting('synchronous_commit') AS effective`);
  const overrides = await all(
    patient,
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

async function synchronousStandbys(patient: Patient): Promise<Finding> {
  const { names, following, hidden } = await standbysOf(patient);
  if (names === null) return { status: 'unknown', message: 'The server does not show synchronous_standby_names' };
  if (names === '') return ok('none: acknowledged writes are on this server only, and go with its disk');
  if (following > 0) return ok(`${following} of ${names}: acknowledged writes are on another server too`);
  if (hidden > 0)
    return { status: 'unknown', message: `This login may not see whether one of ${names} follows`, fix: SEE_OTHERS };
  return {
    status: 'fail',
    message: `None of ${names} follows: every write waits until one does`,
    fix: 'Start a standby, or empty synchronous_standby_names and give up surviving the loss of this server',
  };
}

async function rowLevelSecurity(patient: Patient): Promise<Finding> {
  const tables = await all(
    patient,
    `SELECT c.relname AS name, c.relrowsecurity AND c.relforcerowsecurity AS forced, c.relrowsecurity AS enabled,
       pg_get_userbyid(c.relowner) AS owner, pg_has_role(current_user, c.relowner, 'USAGE') AS owned
     FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attname = 'tenant_id' AND NOT a.attisdropped
     WHERE c.relnamespace = $1::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY c.relname`,
    [`"${patient.schema}"`],
  );
  if (!tables.some(({ enabled }) => enabled)) return ok('off: the store keeps tenants apart, the server does not');
  const open = tables.filter(({ forced }) => !forced).map(({ name }) => name);
  if (open.length > 0) {
    return {
      status: 'fail',
      message: `Not on and forced for ${open.join(', ')}: tenants are not kept apart there`,
      fix: `SELECT ${patient.schema}.confine_tenants(), as the owner of the tables`,
    };
  }
  const owned = tables.find((table) => table.owned);
  if (!owned) return ok('on and forced for every table that has tenants');
  return {
    status: 'warn',
    message: `On and forced, but this login is or inherits ${owned.owner}, who owns the tables and could lift it`,
    fix: 'Run migrations as the owner, and the store (migrate: false) as another login that is a member of tidemark_writer and tidemark_admin',
  };
}

async function loginRole(patient: Patient): Promise<Finding> {
  const { name, rolsuper, rolbypassrls } = await one(
    patient,
    'SELECT rolname AS name, rolsuper, rolbypassrls FROM pg_roles WHERE rolname = current_user',
  );
  if (!rolsuper && !rolbypassrls) return ok(`${name} is bound by privileges and policies`);
  const { enabled } = await one(
    patient,
    'SELECT coalesce(bool_or(relrowsecurity), false) AS enabled FROM pg_class WHERE relnamespace = $1::regnamespace',
    [`"${patient.schema}"`],
  );
  return {
    status: enabled ? 'fail' : 'warn',
    message: `${name} ${rolsuper ? 'is a superuser' : 'has BYPASSRLS'}: ${enabled ? 'row-level security does not hold for it' : 'nothing on the server is closed to it'}`,
    fix: 'Connect as a login of its own, NOSUPERUSER NOBYPASSRLS',
  };
}

async function collationVersion(patient: Patient): Promise<Finding> {
  const { number } = await one(patient, `SELECT current_setting('server_version_num')::int AS number`);
  if (number < 150_000)
    return {
      status: 'unknown',
      message: 'PostgreSQL 14 does not record it; the keys of the store are COLLATE "C" and do not depend on it',
    };
  const { database, recorded, actual } = await one(
    patient,
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

async function idleTransactions(patient: Patient): Promise<Finding> {
  const { count, seconds, hidden } = await one(
    patient,
    `SELECT count(*) FILTER (WHERE state LIKE 'idle in transaction%') AS count,
       coalesce(max(extract(epoch FROM clock_timestamp() - state_change)) FILTER (WHERE state LIKE 'idle in transaction%'), 0)::float AS seconds,
       count(*) FILTER (WHERE ${HIDDEN}) AS hidden
     FROM pg_stat_activity`,
  );
  if (seconds > LONG_SECONDS) {
    return {
      status: 'warn',
      message: `${count} sessions are idle in a transaction, one for ${Math.round(seconds)} s: locks and old rows stay with them`,
      fix: 'End transactions promptly, and set idle_in_transaction_session_timeout',
    };
  }
  if (hidden > 0)
    return { status: 'unknown', message: `${hidden} sessions of other roles cannot be seen`, fix: SEE_OTHERS };
  return ok('none that lasts');
}

/** The feed shows events of transactions older than every open one that writes, in any database of the server. */
async function feedHorizon(patient: Patient): Promise<Finding> {
  const [oldest] = await all(
    patient,
    `SELECT * FROM (
       SELECT age(backend_xid) AS age, pid, application_name AS application, usename::text AS owner, datname::text AS database,
         extract(epoch FROM clock_timestamp() - xact_start)::float AS seconds, NULL AS gid
       FROM pg_stat_activity WHERE backend_xid IS NOT NULL AND pid <> pg_backend_pid()
       UNION ALL
       SELECT age(transaction), NULL, NULL, owner::text, database::text, extract(epoch FROM clock_timestamp() - prepared)::float, gid
       FROM pg_prepared_xacts
     ) AS writing ORDER BY age DESC LIMIT 1`,
  );
  if (oldest && oldest.seconds > LONG_SECONDS) {
    const { pid, application, owner, database, seconds, gid } = oldest;
    const name =
      gid === null
        ? `of ${application || 'an unnamed application'} (pid ${pid}, ${owner} in ${database})`
        : `prepared as ${gid} (${owner} in ${database})`;
    return {
      status: 'warn',
      message: `The transaction ${name} has been open for ${Math.round(seconds)} s: the feed shows nothing that was stored since it first wrote`,
      fix:
        gid === null
          ? `End it there, or SELECT pg_terminate_backend(${pid})`
          : `COMMIT PREPARED '${gid}' or ROLLBACK PREPARED '${gid}'`,
    };
  }
  const { hidden } = await one(patient, `SELECT count(*) AS hidden FROM pg_stat_activity WHERE ${HIDDEN}`);
  if (hidden > 0)
    return { status: 'unknown', message: `${hidden} sessions of other roles cannot be seen`, fix: SEE_OTHERS };
  return ok('held back by no transaction');
}

/**
 * Whether connections are a pooler's loans: while another connection is inside a transaction, ours must still have the
 * same backend, and never the other's.
 */
async function pooler(patient: Patient): Promise<Finding> {
  if (patient.pool.options.max < 2)
    return { status: 'unknown', message: 'Telling needs two connections, and maxConnections allows one' };
  const before = await backendOf(patient.client);
  const other = await patient.pool.connect();
  try {
    await other.query('BEGIN');
    const theirs = await backendOf(other);
    const after = await backendOf(patient.client);
    await other.query('ROLLBACK');
    if (before === after && before !== theirs) return ok('none: connections are sessions');
  } finally {
    other.release();
  }
  return ok(
    'in transaction mode: time limits of the session do not apply, and live tails poll unless listenUrl names the server itself',
  );
}

async function backendOf(client: pg.ClientBase): Promise<number> {
  return (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
}

async function clock(patient: Patient): Promise<Finding> {
  const before = Date.now();
  const { now } = await one(patient, 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float AS now');
  const after = Date.now();
  // Within the round trip nobody can tell.
  const offset = Math.round(now < before ? now - before : Math.max(0, now - after));
  if (Math.abs(offset) <= CLOCK_OFFSET_MS) return ok('agrees with that of this process');
  return {
    status: 'warn',
    message: `The clock of the server is ${Math.abs(offset)} ms ${offset > 0 ? 'ahead of' : 'behind'} that of this process; the store goes by the server's`,
    fix: 'Keep both machines on time with NTP',
  };
}

async function connections(patient: Patient): Promise<Finding> {
  const { used, most } = await one(
    patient,
    `SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname IS NOT NULL) AS used,
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most`,
  );
  const message = `${used} of ${most} are in use`;
  if (used <= most * MANY_CONNECTIONS) return ok(message);
  return {
    status: 'warn',
    message,
    fix: 'Lower maxConnections, raise max_connections of the server, or put PgBouncer in between',
  };
}

async function unloggedTables(patient: Patient): Promise<string[]> {
  const tables = await all(
    patient,
    `SELECT relname FROM pg_class WHERE relnamespace = $1::regnamespace AND relkind = 'r' AND relpersistence = 'u' ORDER BY relname`,
    [`"${patient.schema}"`],
  );
  return tables.map(({ relname }) => relname);
}

/** The standbys that commits wait for: how many are streaming, and how many sessions of theirs this login may not look at. */
async function standbysOf(patient: Patient): Promise<{ names: string | null; following: number; hidden: number }> {
  const names = await settingOf(patient, 'synchronous_standby_names');
  if (!names) return { names, following: 0, hidden: 0 };
  const counts = await one(
    patient,
    `SELECT count(*) FILTER (WHERE state = 'streaming' AND sync_state IN ('sync', 'quorum')) AS following,
       count(*) FILTER (WHERE state IS NULL) AS hidden
     FROM pg_stat_replication`,
  );
  return { names, following: counts.following, hidden: counts.hidden };
}

/** A setting as this session has it; `null` where the server does not show it. */
async function settingOf(patient: Patient, name: string): Promise<string | null> {
  return (await one(patient, 'SELECT current_setting($1, true) AS setting', [name])).setting;
}

// biome-ignore lint/suspicious/noExplicitAny: rows are what each statement above them selects.
type Row = Record<string, any>;

async function all({ client }: Patient, sql: string, values: unknown[] = []): Promise<Row[]> {
  return (await client.query<Row>(sql, values)).rows;
}

async function one(patient: Patient, sql: string, values: unknown[] = []): Promise<Row> {
  const [row] = await all(patient, sql, values);
  if (!row) throw new Error('the server showed nothing');
  return row;
}

function ok(message: string): Finding {
  return { status: 'ok', message };
}

function unreadable(error: unknown): Finding {
  return {
    status: 'unknown',
    message: `Could not be read: ${(error as Error).message}`,
    fix: 'Let this login read it, or look as another one',
  };
}
