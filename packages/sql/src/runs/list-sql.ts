/**
 * The statement behind `listRuns`: only the conditions that the query needs, keyset paging over (created_at, tenant,
 * run) or (updated_at, tenant, run).
 */
import type { RunQuery, UpdatedRunsQuery } from '@tidemark/core/engine';
import { HEAD_COLUMNS } from './rows.ts';

/** The column by which a list is ordered, and the last run of the previous page. */
export interface ListOrder {
  column: 'created_at' | 'updated_at';
  after: { at: number; tenantId: string; runId: string } | undefined;
}

export function byCreation({ after }: RunQuery): ListOrder {
  return { column: 'created_at', after: after && { ...after, at: after.createdAt } };
}

export function byUpdate({ after }: UpdatedRunsQuery): ListOrder {
  return { column: 'updated_at', after: after && { ...after, at: after.updatedAt } };
}

/** The engine's conditions on labels. */
export interface LabelSql {
  /** The condition that a label has a value. Parameters: name, value. */
  hasLabel: string;
  /** The condition that a label is absent. Parameter: name. */
  lacksLabel: string;
}

export function runListSql(
  query: Omit<RunQuery, 'after'>,
  { column, after }: ListOrder,
  { hasLabel, lacksLabel }: LabelSql,
): { sql: string; params: (string | number)[] } {
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
  where(lacksLabel, query.withoutLabel);
  const [direction, beyond] = query.order === 'newest' ? ['DESC', '<'] : ['ASC', '>'];
  if (after) where(`(${column}, tenant_id, run_id) ${beyond} (?, ?, ?)`, after.at, after.tenantId, after.runId);
  const sql = `
    SELECT ${HEAD_COLUMNS.join(', ')} FROM @runs WHERE ${conditions.join(' AND ')}
    ORDER BY ${column} ${direction}, tenant_id ${direction}, run_id ${direction} LIMIT ?`;
  return { sql, params: [...params, query.limit] };
}
