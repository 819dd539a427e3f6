/** The epoch of the feed: a new one begins when this database's transactions count from lower than those it has stored. */
import type pg from 'pg';
import type { Dialect } from './sql.ts';

/** Restored from a dump into another cluster, stored transaction ids may lie ahead of the present: the feed would stand still. */
export async function beginEpoch(client: pg.ClientBase, dialect: Dialect): Promise<void> {
  await client.query(
    dialect.script(`
      INSERT INTO @feed_epochs (epoch, started_at)
      SELECT max(epoch) + 1, @tidemark_now() FROM @feed_epochs
      HAVING (
        SELECT xid FROM @run_events WHERE epoch = (SELECT max(epoch) FROM @feed_epochs)
        ORDER BY epoch DESC, xid DESC, position DESC LIMIT 1
      ) >= pg_snapshot_xmax(pg_current_snapshot())
      ON CONFLICT DO NOTHING`),
  );
}
