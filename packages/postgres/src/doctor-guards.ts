/** Doctor checks of the triggers that protect events, on the log and on each of its partitions. */
import { all, type ExaminedServer, type Finding, ok } from './examined-server.ts';

/** Triggers that are missing or disabled, by table. A partition has its own trigger against TRUNCATE. */
const MISSING_GUARDS = `
  WITH logs AS (
    SELECT c.oid FROM pg_class c WHERE c.relnamespace = $1::regnamespace AND c.relname = 'run_events'
    UNION SELECT tree.relid FROM pg_class c, pg_partition_tree(c.oid) AS tree
    WHERE c.relnamespace = $1::regnamespace AND c.relname = 'run_events'
  )
  SELECT logs.oid::regclass::text AS table, guard FROM logs
  CROSS JOIN unnest(ARRAY['run_events_never_change', 'run_events_never_truncated']) AS guard
  WHERE NOT EXISTS (
    SELECT 1 FROM pg_trigger t WHERE t.tgrelid = logs.oid AND t.tgname = guard AND t.tgenabled IN ('O', 'A'))
  ORDER BY 1, 2`;

export async function appendOnly(server: ExaminedServer): Promise<Finding> {
  const missing = await all(server, MISSING_GUARDS, [`"${server.schema}"`]);
  if (missing.length === 0) return ok('triggers keep events from being changed, removed singly and truncated');
  return {
    status: 'fail',
    message: `Missing or switched off: ${missing.map(({ table, guard }) => `${guard} on ${table}`).join(', ')}`,
    fix: `Verify every run; then, as the owner of the tables, SELECT ${server.schema}.guard_partitions() for new partitions, or ALTER TABLE … ENABLE TRIGGER`,
  };
}
