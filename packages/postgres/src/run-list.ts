/** The statement behind `listRuns`: conditions only for what was asked, keyset paging over (created_at, tenant, run). */
import type { RunQuery } from '@tidemark/core/engine';
import { HEAD_COLUMNS } from './run-rows.ts';

export function runListSql(query: RunQuery): { sql: string; params: unknown[] } {
  const conditions = ['removed IS NULL'];
  const params: unknown[] = [];
  const where = (condition: (parameter: string) => string, value: unknown) => {
    if (value === undefined) return;
    params.push(value);
    conditions.push(condition(`$${params.length}`));
  };
  where((it) => `tenant_id = ${it}`, query.tenantId);
  where((it) => `project_id = ${it}`, query.projectId);
  where((it) => `environment_id = ${it}`, query.environmentId);
  where((it) => `plan_id = ${it}`, query.planId);
  where((it) => `parent_run_id = ${it}`, query.parentRunId);
  where((it) => `created_at >= ${it}`, query.createdAfter);
  where((it) => `created_at < ${it}`, query.createdBefore);
  where((it) => `updated_at >= ${it}`, query.updatedAfter);
  where((it) => `updated_at < ${it}`, query.updatedBefore);
  where((it) => `labels @> ${it}::jsonb`, query.labels && JSON.stringify(query.labels));
  // A run whose events set no status yet shows as PENDING.
  const orNone = query.statuses?.includes('PENDING') ? ' OR status IS NULL' : '';
  where((it) => `(status = ANY (${it}::text[])${orNone})`, query.statuses);
  const direction = query.order === 'newest' ? 'DESC' : 'ASC';
  if (query.after) {
    const { createdAt, tenantId, runId } = query.after;
    params.push(createdAt, tenantId, runId);
    const [a, b, c] = [params.length - 2, params.length - 1, params.length];
    conditions.push(`(created_at, tenant_id, run_id) ${query.order === 'newest' ? '<' : '>'} ($${a}, $${b}, $${c})`);
  }
  params.push(query.limit);
  const sql = `
    SELECT ${HEAD_COLUMNS.join(', ')} FROM @runs WHERE ${conditions.join(' AND ')}
    ORDER BY created_at ${direction}, tenant_id ${direction}, run_id ${direction} LIMIT $${params.length}`;
  return { sql, params };
}
