/**
 * The statement behind `listRuns`: only the conditions that the query needs, keyset paging over (created_at, tenant,
 * run).
 */
import type { RunQuery } from '@tidemark/core/engine';
import { HEAD_COLUMNS } from './rows.ts';

/** `hasLabel` is the engine's condition that a label has a value. Parameters: name, value. */
export function runListSql(query: RunQuery, hasLabel: string): { sql: string; params: (string | number)[] } {
  const conditions = ['removed IS NULL'];
  const params: (string | number)[] = [];
  const where = (condition: string, ...values: (string | number | undefined)[]) => {
    if (values.some((value) => value === undefined)) return;
    conditions.push(condition);
    params.push(...(values as (string | number)[]));
  };
  where('tenant_id = ?', query.tenantId);
  where('project_id = ?', query.projectId);
  where('environment_id = ?', query.environmentId);
  where('plan_id = ?', query.planId);
  where('parent_run_id = ?', query.parentRunId);
  where('created_at >= ?', query.createdAfter);
  where('created_at < ?', query.createdBefore);
  where('updated_at >= ?', query.updatedAfter);
  where('updated_at < ?', query.updatedBefore);
  if (query.statuses) {
    // A run whose events have not set a status is PENDING.
    const orNone = query.statuses.includes('PENDING') ? ' OR status IS NULL' : '';
    where(`(status IN (${query.statuses.map(() => '?').join(', ')})${orNone})`, ...query.statuses);
  }
  for (const [name, label] of Object.entries(query.labels ?? {})) where(hasLabel, name, label);
  const [direction, beyond] = query.order === 'newest' ? ['DESC', '<'] : ['ASC', '>'];
  if (query.after) {
    const { createdAt, tenantId, runId } = query.after;
    where(`(created_at, tenant_id, run_id) ${beyond} (?, ?, ?)`, createdAt, tenantId, runId);
  }
  const sql = `
    SELECT ${HEAD_COLUMNS.join(', ')} FROM @runs WHERE ${conditions.join(' AND ')}
    ORDER BY created_at ${direction}, tenant_id ${direction}, run_id ${direction} LIMIT ?`;
  return { sql, params: [...params, query.limit] };
}
