/** Remote bindings in SQL: one row per trace, context (optional) and task. The last save wins (AGT-3). */
import { type BindingEngine, corruptValue, sumNames } from '@tidemark/core/engine';
import { CLOCK, type SqlDatabase } from '../database.ts';

/** Stored as the context of bindings without one. Ids are never empty (GEN-5). */
const NO_CONTEXT = '';

interface BindingRow {
  context_id: string;
  task_id: string;
  agent_url: string;
  sum: number | null;
}

function sumOf(row: readonly string[]): number {
  return sumNames(['binding', ...row]);
}

export function sqlBindings(db: SqlDatabase): BindingEngine {
  return {
    async save(tenantId, { traceId, contextId, taskId, agentUrl }, call) {
      const sql = `
        INSERT INTO @remote_bindings (tenant_id, trace_id, context_id, task_id, agent_url, sum, created_at, updated_at)
        SELECT ?, ?, ?, ?, ?, ?, now, now FROM ${CLOCK} WHERE true
        ON CONFLICT (tenant_id, trace_id, context_id, task_id)
        DO UPDATE SET agent_url = excluded.agent_url, sum = excluded.sum, updated_at = excluded.updated_at`;
      const row = [tenantId, traceId, contextId ?? NO_CONTEXT, taskId, agentUrl];
      await db.write((tx) => tx.all(sql, [...row, sumOf(row)]), call);
    },

    async list(tenantId, traceId, call) {
      const rows = await db.read<BindingRow>(
        `SELECT context_id, task_id, agent_url, sum
           FROM @remote_bindings
          WHERE tenant_id = ? AND trace_id = ?
          ORDER BY context_id, task_id`,
        [tenantId, traceId],
        call,
      );
      return rows.map((row) => {
        const { context_id, task_id, agent_url, sum } = row;
        if (sum !== null && sum !== sumOf([tenantId, traceId, context_id, task_id, agent_url]))
          throw corruptValue('binding', `${traceId} / ${task_id}`);
        const contextId = row.context_id === NO_CONTEXT ? null : row.context_id;
        return { traceId, contextId, taskId: row.task_id, agentUrl: row.agent_url };
      });
    },
  };
}
