/** Doctor checks of sessions: long transactions, the kind of connection, and free connections. */
import type pg from 'pg';
import { all, type ExaminedServer, type Finding, ok, one } from './examined-server.ts';

/** The age from which an open transaction is reported. */
const LONG_SECONDS = 10;
const CLOCK_OFFSET_MS = 1_000;
const MANY_CONNECTIONS = 0.8;
/** Matches sessions whose query this login may not see. */
const HIDDEN = "query = '<insufficient privilege>' AND datname IS NOT NULL";
export const SEE_OTHERS = 'GRANT pg_read_all_stats to this login, to let it see the sessions of others';

export async function idleTransactions(server: ExaminedServer): Promise<Finding> {
  const { count, seconds, hidden } = await one(
    server,
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

/**
 * The feed shows only events of transactions older than every open writing transaction, in any database of the server.
 */
export async function feedHorizon(server: ExaminedServer): Promise<Finding> {
  const [oldest] = await all(
    server,
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
  const { hidden } = await one(server, `SELECT count(*) AS hidden FROM pg_stat_activity WHERE ${HIDDEN}`);
  if (hidden > 0)
    return { status: 'unknown', message: `${hidden} sessions of other roles cannot be seen`, fix: SEE_OTHERS };
  return ok('held back by no transaction');
}

/**
 * Detects a pooler in transaction mode: while another connection is inside a transaction, ours must keep its backend
 * and never get the backend of the other connection.
 */
export async function pooler(server: ExaminedServer): Promise<Finding> {
  if (server.pool.options.max < 2)
    return { status: 'unknown', message: 'Telling needs two connections, and maxConnections allows one' };
  const before = await backendOf(server.client);
  const other = await server.pool.connect();
  try {
    await other.query('BEGIN');
    const theirs = await backendOf(other);
    const after = await backendOf(server.client);
    if (before === after && before !== theirs) return ok('none: connections are sessions');
  } finally {
    // Closed, because it still has an open transaction.
    other.release(true);
  }
  return ok(
    'in transaction mode: time limits of the session do not apply, and live tails poll unless listenUrl names the server itself',
  );
}

async function backendOf(client: pg.ClientBase): Promise<number> {
  return (await client.query('SELECT pg_backend_pid() AS pid')).rows[0].pid;
}

export async function clock(server: ExaminedServer): Promise<Finding> {
  const before = Date.now();
  const { now } = await one(server, 'SELECT (extract(epoch FROM clock_timestamp()) * 1000)::float AS now');
  const after = Date.now();
  // A difference smaller than the round trip cannot be measured.
  const offset = Math.round(now < before ? now - before : Math.max(0, now - after));
  if (Math.abs(offset) <= CLOCK_OFFSET_MS) return ok('agrees with that of this process');
  return {
    status: 'warn',
    message: `The clock of the server is ${Math.abs(offset)} ms ${offset > 0 ? 'ahead of' : 'behind'} that of this process; the store goes by the server's`,
    fix: 'Keep both machines on time with NTP',
  };
}

export async function connections(server: ExaminedServer): Promise<Finding> {
  const { used, most } = await one(
    server,
    `SELECT (SELECT count(*) FROM pg_stat_activity WHERE datname IS NOT NULL) AS used,
       current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int AS most`,
  );
  const message = `${used} of ${most} are in use`;
  if (used <= most * MANY_CONNECTIONS) return ok(message);
  return {
    status: 'warn',
    message,
    fix: 'Lower maxConnections, increase max_connections of the server, or put PgBouncer in between',
  };
}
