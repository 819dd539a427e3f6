/** The filter of the list of runs, kept in the address so that a filtered list can be shared. */
import { ANY_OWNER, OWNER_LABEL, type RunStatus, type RunSummary } from '@tidemark/core/portable';
import { type RouteQuery, route, setQuery } from '../shell/router.ts';
import { type RunsFilter, STATUS_CHOICES } from './api.ts';

export const SPANS: Readonly<Record<string, { title: string; ms: number }>> = {
  '15m': { title: 'last 15 minutes', ms: 900_000 },
  '1h': { title: 'last hour', ms: 3_600_000 },
  '24h': { title: 'last 24 hours', ms: 86_400_000 },
  '7d': { title: 'last 7 days', ms: 604_800_000 },
};

/** The filter in the address: `?tenant=&project=&environment=&plan=&status=&owner=&since=&q=`. */
export interface FilterQuery {
  tenant: string;
  project: string;
  environment: string;
  plan: string;
  status: string;
  /** The adapter whose runs are shown. Empty for runs without an adapter, `any` for all runs. */
  owner: string;
  since: string;
  q: string;
}

export type FilterName = keyof FilterQuery;

export function filterQuery(): FilterQuery {
  const { query } = route.value;
  const read = (name: FilterName) => query.get(name) ?? '';
  return {
    tenant: read('tenant'),
    project: read('project'),
    environment: read('environment'),
    plan: read('plan'),
    status: read('status'),
    owner: read('owner'),
    since: read('since'),
    q: read('q'),
  };
}

export function changeFilter(changes: Partial<FilterQuery>): void {
  setQuery(changes satisfies RouteQuery);
}

export const NO_FILTER: FilterQuery = {
  tenant: '',
  project: '',
  environment: '',
  plan: '',
  status: '',
  owner: '',
  since: '',
  q: '',
};

/** Returns the part of the filter that the server applies; the browser matches the text. */
export function serverFilter({ tenant, project, environment, plan, status, owner, since }: FilterQuery): RunsFilter {
  const span = SPANS[since];
  const known = STATUS_CHOICES.find((it) => it === status);
  return {
    ...(tenant && { tenantId: tenant }),
    ...(project && { projectId: project }),
    ...(environment && { environmentId: environment }),
    ...(plan && { planId: plan }),
    ...(known && { status: known }),
    ...(owner && { owner }),
    ...(span && { updatedAfter: new Date(Date.now() - span.ms).toISOString() }),
  };
}

/** Returns whether a run contains the text in its id, plan, labels or scope. */
export function hasText(run: RunSummary, text: string): boolean {
  if (text === '') return true;
  const { runId, planId, tenantId, projectId, environmentId, labels } = run;
  const words = [runId, planId, tenantId, projectId, environmentId, ...Object.entries(labels).flat()];
  return words.some((word) => word.toLowerCase().includes(text.toLowerCase()));
}

/** Returns whether a live run matches the filter. */
export function isShown(run: RunSummary, filter: FilterQuery): boolean {
  const { tenantId, projectId, environmentId, planId, status, owner, updatedAfter } = serverFilter(filter);
  const is = (wanted: string | undefined, value: string) => wanted === undefined || wanted === value;
  return (
    is(tenantId, run.tenantId) &&
    is(projectId, run.projectId) &&
    is(environmentId, run.environmentId) &&
    is(planId, run.planId) &&
    is(status, run.status as RunStatus) &&
    (owner === ANY_OWNER || owner === run.labels[OWNER_LABEL]) &&
    (updatedAfter === undefined || run.updatedAt >= updatedAfter) &&
    hasText(run, filter.q)
  );
}
