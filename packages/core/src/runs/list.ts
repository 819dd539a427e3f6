/** `listRuns`: checks the filter, asks the engine for one run more than the page holds, and builds the cursor. */
import { decodeCursor, encodeCursor } from '../checks/json.ts';
import { checkLabels } from '../checks/labels.ts';
import { checkLimit, checkTime, timeText } from '../checks/numbers.ts';
import { checkId, checkOneOf } from '../checks/text.ts';
import type { Page } from '../contracts/common.ts';
import { RUN_STATUSES, type RunStatus } from '../contracts/run-state.ts';
import type { ListRunsOptions, RunSummary } from '../contracts/runs.ts';
import type { DamagedHead, RunEngine, RunHead, RunQuery } from '../engine/runs.ts';
import type { StoreContext } from '../tools/context.ts';
import { DAMAGED_HEAD } from './chain.ts';
import type { Quarantine } from './quarantine.ts';
import { checkTenant, type RunView } from './view.ts';

export async function listRuns(
  context: StoreContext,
  engine: RunEngine,
  view: RunView,
  quarantine: Quarantine,
  options: ListRunsOptions | undefined,
): Promise<Page<RunSummary>> {
  const query = checkQuery(view, options ?? {});
  return context.read(options, async (call) => {
    const damaged: DamagedHead[] = [];
    const heads = await engine.list({ ...query, limit: query.limit + 1 }, call, (head) => damaged.push(head));
    // A run with a damaged head is missing from the list; its quarantine entry names it.
    for (const { run, seq } of damaged) await quarantine.note(run, (seq ?? 0) + 1, DAMAGED_HEAD, call);
    const items = heads.slice(0, query.limit).map(toSummary);
    if (heads.length <= query.limit) return { items };
    const last = heads[query.limit - 1]!;
    return { items, next: encodeCursor([last.createdAt, last.tenantId, last.runId]) };
  });
}

function checkQuery(view: RunView, options: ListRunsOptions): RunQuery {
  const id = (field: 'projectId' | 'environmentId' | 'planId' | 'parentRunId') =>
    options[field] === undefined ? undefined : checkId(options[field], field);
  const time = (field: 'createdAfter' | 'createdBefore' | 'updatedAfter' | 'updatedBefore') =>
    options[field] === undefined ? undefined : Date.parse(checkTime(options[field], field));
  return {
    tenantId: checkTenant(view, options.tenantId) ?? undefined,
    projectId: id('projectId'),
    environmentId: id('environmentId'),
    planId: id('planId'),
    parentRunId: id('parentRunId'),
    labels: options.labels === undefined ? undefined : checkLabels(options.labels, 'labels'),
    statuses: checkStatuses(options.status),
    createdAfter: time('createdAfter'),
    createdBefore: time('createdBefore'),
    updatedAfter: time('updatedAfter'),
    updatedBefore: time('updatedBefore'),
    order: options.order === undefined ? 'newest' : checkOneOf(options.order, 'order', ['newest', 'oldest']),
    after: options.cursor === undefined ? undefined : checkRunCursor(options.cursor),
    limit: checkLimit(options.limit, 100, 1_000),
  };
}

function checkStatuses(status: ListRunsOptions['status']): RunStatus[] | undefined {
  if (status === undefined) return undefined;
  return (Array.isArray(status) ? status : [status]).map((it) => checkOneOf(it, 'status', RUN_STATUSES));
}

function checkRunCursor(cursor: string): RunQuery['after'] {
  const isRun = (values: unknown[]) =>
    values.length === 3 &&
    Number.isSafeInteger(values[0]) &&
    typeof values[1] === 'string' &&
    typeof values[2] === 'string';
  const [createdAt, tenantId, runId] = decodeCursor<[number, string, string]>(cursor, isRun);
  return { createdAt, tenantId, runId };
}

function toSummary(head: RunHead): RunSummary {
  return {
    tenantId: head.tenantId,
    runId: head.runId,
    projectId: head.projectId,
    environmentId: head.environmentId,
    planId: head.planId,
    planVersion: head.planVersion,
    status: head.status ?? 'PENDING',
    lastEventSeq: head.seq,
    createdAt: timeText(head.createdAt),
    updatedAt: timeText(head.updatedAt),
    labels: { ...head.labels },
    ...(head.parentRunId === null ? {} : { parentRunId: head.parentRunId }),
  };
}

/** Whether a run matches a query, ignoring cursor and limit. For engines that filter in JavaScript. */
export function matchesQuery(head: RunHead, query: RunQuery): boolean {
  if (query.tenantId !== undefined && head.tenantId !== query.tenantId) return false;
  if (query.projectId !== undefined && head.projectId !== query.projectId) return false;
  if (query.environmentId !== undefined && head.environmentId !== query.environmentId) return false;
  if (query.planId !== undefined && head.planId !== query.planId) return false;
  if (query.parentRunId !== undefined && head.parentRunId !== query.parentRunId) return false;
  if (query.statuses && !query.statuses.includes(head.status ?? 'PENDING')) return false;
  if (query.createdAfter !== undefined && head.createdAt < query.createdAfter) return false;
  if (query.createdBefore !== undefined && head.createdAt >= query.createdBefore) return false;
  if (query.updatedAfter !== undefined && head.updatedAt < query.updatedAfter) return false;
  if (query.updatedBefore !== undefined && head.updatedAt >= query.updatedBefore) return false;
  return Object.entries(query.labels ?? {}).every(
    ([name, label]) => Object.hasOwn(head.labels, name) && head.labels[name] === label,
  );
}
