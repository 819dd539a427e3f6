/** Planner events in SQL, in order of arrival. The first write of an identity wins (AGT-10). */
import type { PlannerEventEngine } from '@tidemark/core/engine';
import { NOW, type SqlDatabase } from '../database.ts';
import { integerOf, type SqlInteger } from '../values.ts';

const PAGE = 500;

const APPEND = `
  INSERT INTO @planner_events (tenant_id, trace_id, identity, body, created_at)
  VALUES (?, ?, ?, ?, ${NOW})
  ON CONFLICT (tenant_id, trace_id, identity) DO NOTHING`;

export function sqlPlannerEvents(db: SqlDatabase): PlannerEventEngine {
  return {
    async append(tenantId, traceId, { id, body }, call) {
      await db.write((tx) => tx.all(APPEND, [tenantId, traceId, id, body]), call);
    },

    async *read(tenantId, traceId, call) {
      let after = 0;
      for (;;) {
        const rows: { id: SqlInteger; body: string }[] = await db.read(
          `SELECT id, body
             FROM @planner_events
            WHERE tenant_id = ? AND trace_id = ? AND id > ?
            ORDER BY id
            LIMIT ${PAGE}`,
          [tenantId, traceId, after],
          call,
        );
        if (rows.length > 0) yield rows.map((row) => row.body);
        if (rows.length < PAGE) return;
        after = integerOf(rows.at(-1)!.id);
      }
    },
  };
}
