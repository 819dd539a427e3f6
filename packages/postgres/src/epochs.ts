/** The epoch of the feed. A new epoch begins when the database's current transaction id is lower than a stored one. */
import type pg from 'pg';
import type { Confinement } from './roles.ts';
import type { Dialect } from './sql.ts';

/**
 * After a dump is restored into another cluster, stored transaction ids may be ahead of the current one, and the feed
 * would stall. With row-level security only the operator's role sees all events, so only a login that may use that role
 * can check.
 */
export async function beginEpoch(
  client: pg.ClientBase,
  dialect: Dialect,
  { rowLevelSecurity, adminRole }: Confinement,
): Promise<void> {
  if (rowLevelSecurity && adminRole === null) return;
  // Several statements in one message run in one transaction.
  await client.query(
    dialect.script(`
      ${adminRole === null ? '' : `SET LOCAL ROLE ${adminRole};`}
      INSERT INTO @feed_epochs (epoch, started_at)
      SELECT max(epoch) + 1, @tidemark_now() FROM @feed_epochs
      HAVING greatest(${lastXid('@run_events')}, ${lastXid('@run_notices')}) >= pg_snapshot_xmax(pg_current_snapshot())
      ON CONFLICT DO NOTHING`),
  );
}

/** The newest transaction id of a table of the feed in the current epoch; NULL if there is none. */
function lastXid(table: string): string {
  return `(
        SELECT xid FROM ${table} WHERE epoch = (SELECT max(epoch) FROM @feed_epochs)
        ORDER BY epoch DESC, xid DESC, position DESC LIMIT 1
      )`;
}
