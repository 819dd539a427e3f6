/** Remote bindings in SQL: one row per (trace, context or none, task), the last save stands (AGT-3). */
import type { BindingEngine } from '@tidemark/core/engine';
import { CLOCK, type SqlDatabase } from '../database.ts';

/** What stands in the place of a context for bindings of none: ids are never empty (GEN-5). */
const NO_CONTEXT = '';

export function sqlBindings(db: SqlDatabase): BindingEngine {
  return {
    async save(tenantId, { traceId, contextId, taskId, agentUrl }, call) {
      const sql = `
        INSERT INTO @remote_bindings (tenant_id, trace_id, context_id, task_id, agent_url, created_at, updated_at)
        SELECT ?, ?, ?, ?, ?, now, now FROM ${CLOCK} WHERE true
        ON CONFLICT (tenant_id, trace_id, context_id, task_id)
        DO UPDATE SET agent_url = excluded.agent_url, updated_at = excluded.updated_at`;
      await db.write((tx) => tx.all(sql, [tenantId, traceId, contextId ?? NO_CONTEXT, taskId, agentUrl]), call);
    },

    async list(tenantId, traceId, call) {
      const rows = await db.read<{ context_id: string; task_id: string; agent_url: string }>(
        `SELECT context_id, task_id, agent_url
           FROM @remote_bindings
          WHERE tenant_id = ? AND trace_id = ?
          ORDER BY context_id, task_id`,
        [tenantId, traceId],
        call,
      );
      return rows.map((row) => {
        const contextId = row.context_id === NO_CONTEXT ? null : row.context_id;
        return { traceId, contextId, taskId: row.task_id, agentUrl: row.agent_url };
      });
    },
  };
}
