/**
 * `listRuns` and `countRuns`: check the filter, ask the engine for one run more than a page holds, and build the cursor
 * or count.
 */
import { decodeCursor, encodeCursor } from '../checks/json.ts';
import { checkLabels } from '../checks/labels.ts';
import { laterLife } from '../checks/life.ts';
import { checkLimit, checkTime, timeText } from '../checks/numbers.ts';
import { checkId, checkOneOf } from '../checks/text.ts';
import type { CallOptions, Page } from '../contracts/common.ts';
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';
import { ANY_OWNER, OWNER_LABEL } from '../contracts/owners.ts';
import { RUN_STATUSES, type RunStatus } from '../contracts/run-state.ts';
import type { ListRunsOptions, RunCount, RunFilter, RunSummary } from '../contracts/runs.ts';
import type { DamagedHead, RunEngine, RunHead, RunQuery, UpdatedRunsQuery } from '../engine/runs.ts';
import type { StoreContext } from '../tools/context.ts';
import { halfTime } from '../tools/deadlines.ts';
import { DAMAGED_HEAD } from './chain.ts';
import { expiryOf } from './expiry.ts';
import type { Quarantine } from './quarantine.ts';
import { checkTenant, type RunView } from './view.ts';

const ORDERS = ['createdAt', 'updatedAt'] as const;
const COUNTED_AT_ONCE = 1_000;
/** The maximum number of runs that one call counts. */
const MAX_COUNTED = 10_000;

/** The engine that lists runs, the view that limits which runs are visible, and the quarantine for damaged runs. */
interface ListParts {
  engine: RunEngine;
  view: RunView;
  quarantine: Quarantine;
}

export async function listRuns(
  context: StoreContext,
  { engine, view, quarantine }: ListParts,
  canListByUpdate: boolean,
  options: ListRunsOptions | undefined,
): Promise<Page<RunSummary>> {
  const { query, orderBy } = checkList(view, options ?? {});
  if (orderBy === 'updatedAt' && !canListByUpdate) throw orderUnsupported();
  const limit = query.limit + 1;
  return context.read(options, async (call) => {
    const damaged: DamagedHead[] = [];
    const onDamaged = (head: DamagedHead) => damaged.push(head);
    const heads =
      orderBy === 'updatedAt'
        ? await engine.listByUpdate!({ ...query, after: updatedPosition(options?.cursor), limit }, call, onDamaged)
        : await engine.list({ ...query, after: createdPosition(options?.cursor), limit }, call, onDamaged);
    // A run with a damaged head is missing from the list but has a quarantine entry.
    for (const { run, seq } of damaged) await quarantine.note(run, (seq ?? 0) + 1, DAMAGED_HEAD, call);
    const items = heads.slice(0, query.limit).map(toSummary);
    if (heads.length <= query.limit) return { items };
    const last = heads[query.limit - 1]!;
    const key = [last.tenantId, last.runId];
    const next = orderBy === 'updatedAt' ? [orderBy, last.updatedAt, ...key] : [last.createdAt, ...key];
    return { items, next: encodeCursor(next) };
  });
}

/** Counts until the list ends, or until the share of work or time of one call is used. */
export async function countRuns(
  context: StoreContext,
  engine: RunEngine,
  view: RunView,
  quarantine: Quarantine,
  filter: (RunFilter & CallOptions) | undefined,
): Promise<RunCount> {
  const { query } = checkList(view, { ...filter, cursor: undefined, order: 'newest', limit: COUNTED_AT_ONCE });
  return context.read(filter, async (call) => {
    const isLate = halfTime(call);
    let count = 0;
    let exact = true;
    for (let after: RunQuery['after']; ; ) {
      const damaged: DamagedHead[] = [];
      const heads = await engine.list({ ...query, after }, call, (head) => damaged.push(head));
      for (const { run, seq } of damaged) await quarantine.note(run, (seq ?? 0) + 1, DAMAGED_HEAD, call);
      if (damaged.length > 0) exact = false;
      count += heads.length;
      const last = heads.at(-1);
      if (last === undefined || heads.length < COUNTED_AT_ONCE) return { count, exact };
      if (count > MAX_COUNTED) return { count: MAX_COUNTED, exact: false };
      if (isLate()) return { count, exact: false };
      after = { createdAt: last.createdAt, tenantId: last.tenantId, runId: last.runId };
    }
  });
}

/** Checks all options. The position after a cursor depends on the order and is added later. */
function checkList(view: RunView, options: ListRunsOptions) {
  const orderBy = options.orderBy === undefined ? 'createdAt' : checkOneOf(options.orderBy, 'orderBy', ORDERS);
  if (options.cursor !== undefined) void (orderBy === 'updatedAt' ? updatedPosition : createdPosition)(options.cursor);
  return { query: checkQuery(view, options), orderBy };
}

function checkQuery(view: RunView, options: ListRunsOptions): Omit<RunQuery, 'after'> {
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
    ...checkOwner(options),
    statuses: checkStatuses(options.status),
    createdAfter: time('createdAfter'),
    createdBefore: time('createdBefore'),
    updatedAfter: time('updatedAfter'),
    updatedBefore: time('updatedBefore'),
    order: options.order === undefined ? 'newest' : checkOneOf(options.order, 'order', ['newest', 'oldest']),
    limit: checkLimit(options.limit, 100, 1_000),
  };
}

function checkOwner({ labels, owner }: ListRunsOptions): Pick<RunQuery, 'labels' | 'withoutLabel'> {
  const wanted = labels === undefined ? undefined : checkLabels(labels, 'labels');
  if (owner === ANY_OWNER || (owner === undefined && wanted?.[OWNER_LABEL] !== undefined)) return { labels: wanted };
  if (owner === undefined) return { labels: wanted, withoutLabel: OWNER_LABEL };
  const name = checkId(owner, 'owner');
  const named = wanted?.[OWNER_LABEL] ?? name;
  if (named !== name) throw invalidArgument('owner', `the owner in labels, ${named}, or absent`, owner);
  return { labels: { ...wanted, [OWNER_LABEL]: name } };
}

function checkStatuses(status: ListRunsOptions['status']): RunStatus[] | undefined {
  if (status === undefined) return undefined;
  return (Array.isArray(status) ? status : [status]).map((it) => checkOneOf(it, 'status', RUN_STATUSES));
}

/** Parses a cursor of a list by creation. */
export function createdPosition(cursor: string | undefined): RunQuery['after'] {
  if (cursor === undefined) return undefined;
  const isRun = (values: unknown[]) =>
    values.length === 3 &&
    Number.isSafeInteger(values[0]) &&
    typeof values[1] === 'string' &&
    typeof values[2] === 'string';
  const [createdAt, tenantId, runId] = decodeCursor<[number, string, string]>(cursor, isRun);
  return { createdAt, tenantId, runId };
}

/** Parses a cursor of a list by update. The cursor names its order, so a cursor of a list by creation is rejected. */
function updatedPosition(cursor: string | undefined): UpdatedRunsQuery['after'] {
  if (cursor === undefined) return undefined;
  const isRun = (values: unknown[]) =>
    values.length === 4 &&
    values[0] === 'updatedAt' &&
    Number.isSafeInteger(values[1]) &&
    typeof values[2] === 'string' &&
    typeof values[3] === 'string';
  const [, updatedAt, tenantId, runId] = decodeCursor<[string, number, string, string]>(cursor, isRun);
  return { updatedAt, tenantId, runId };
}

function orderUnsupported(): TidemarkError {
  return new TidemarkError(
    'UNSUPPORTED',
    'This store has no index of runs by their last update; list them by creation',
    {
      field: 'runs.listByUpdate',
      rule: 'a capability of the store',
    },
  );
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
    ...laterLife(head.life),
    ...expiryIn(head),
  };
}

function expiryIn(head: RunHead): Pick<RunSummary, 'expiresAt'> {
  const at = expiryOf(head);
  return at === null ? {} : { expiresAt: timeText(at) };
}

/** Whether a run matches a query, ignoring cursor and limit. For engines that filter in JavaScript. */
export function matchesQuery(head: RunHead, query: Omit<RunQuery, 'after'>): boolean {
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
  if (query.withoutLabel !== undefined && Object.hasOwn(head.labels, query.withoutLabel)) return false;
  return Object.entries(query.labels ?? {}).every(
    ([name, label]) => Object.hasOwn(head.labels, name) && head.labels[name] === label,
  );
}
