/** Server requests of the run views. */
import {
  type Page,
  type QuarantinedRun,
  RUN_STATUSES,
  type RunEventRecord,
  type RunSnapshot,
  type RunStatus,
  type RunSummary,
  type VerifyReport,
} from '@tidemark/core/portable';
import type { AnswerTo } from '@tidemark/wire';
import { ask, askText } from '../live/http.ts';

/** The tenant and id of a run. */
export interface RunName {
  tenantId: string;
  runId: string;
}

/** Which runs to list; absent fields match everything. */
export interface RunsFilter {
  tenantId?: string;
  projectId?: string;
  environmentId?: string;
  planId?: string;
  status?: RunStatus;
  owner?: string;
  updatedAfter?: string;
}

/** Statuses that may need action, which the filter shows first. */
const ACTIVE: readonly RunStatus[] = ['RUNNING', 'PAUSED', 'FAILED'];

/** All statuses, in the order of the filter. */
export const STATUS_CHOICES = [...ACTIVE, ...RUN_STATUSES.filter((status) => !ACTIVE.includes(status))];

export function listRuns(
  filter: RunsFilter,
  page: { cursor?: string | undefined; limit: number },
  signal: AbortSignal,
): Promise<Page<RunSummary>> {
  return ask('GET /v1/runs', { query: { ...filter, ...page }, signal });
}

/** Lists damaged runs of all tenants or of a single tenant. */
export function listQuarantined(tenantId: string | undefined, limit: number, signal: AbortSignal) {
  return ask('GET /v1/quarantines', { query: { tenantId, limit }, signal });
}

/** Returns the quarantine of a run, or `undefined` if it is not quarantined. */
export async function quarantineOf(run: RunName, signal: AbortSignal): Promise<QuarantinedRun | undefined> {
  const { items } = await listQuarantined(run.tenantId, MAX_QUARANTINED, signal);
  return items.find(({ runId }) => runId === run.runId);
}

const MAX_QUARANTINED = 1_000;

const tenantQuery = ({ tenantId }: RunName) => ({ tenantId });

/** Reads a page of events, with the size of its JSON text. */
export async function fetchEvents(run: RunName, afterSeq: number, limit: number, signal?: AbortSignal) {
  const query = { ...tenantQuery(run), afterSeq, limit };
  const text = await askText('GET /v1/runs/{runId}/events', {
    params: { runId: run.runId },
    query,
    ...(signal ? { signal } : {}),
  });
  return { events: (JSON.parse(text) as { items: RunEventRecord[] }).items, size: text.length };
}

/** Reads the first event in order to find the tenant of a run. Returns `null` if the run does not exist. */
export async function firstEvent(runId: string, signal: AbortSignal): Promise<RunEventRecord | null> {
  return (
    (await ask('GET /v1/runs/{runId}/events', { params: { runId }, query: { limit: 1 }, signal })).items[0] ?? null
  );
}

export async function headSeq(run: RunName, signal?: AbortSignal): Promise<number> {
  return (
    await ask('GET /v1/runs/{runId}/head', {
      params: { runId: run.runId },
      query: tenantQuery(run),
      ...(signal ? { signal } : {}),
    })
  ).seq;
}

/** Reads the stored snapshot, which may lag behind the log. */
export function storedSnapshot(run: RunName, signal: AbortSignal): Promise<RunSnapshot> {
  return ask('GET /v1/runs/{runId}', { params: { runId: run.runId }, query: tenantQuery(run), signal });
}

/** Reads the snapshot folded from the log, at the end or at a sequence. */
export function snapshotAt(run: RunName, atSeq: number | undefined, signal: AbortSignal): Promise<RunSnapshot> {
  return ask('GET /v1/runs/{runId}/snapshot', {
    params: { runId: run.runId },
    query: { ...tenantQuery(run), atSeq },
    signal,
  });
}

/** Reads the last checkpoint that the server knows, and what it covers of the run. */
export function checkpointOf(run: RunName, signal: AbortSignal): Promise<AnswerTo<'GET /v1/runs/{runId}/checkpoint'>> {
  return ask('GET /v1/runs/{runId}/checkpoint', {
    params: { runId: run.runId },
    query: tenantQuery(run),
    signal,
  });
}

export function verifyRun(run: RunName, signal: AbortSignal): Promise<VerifyReport> {
  return ask('GET /v1/runs/{runId}/integrity', { params: { runId: run.runId }, query: tenantQuery(run), signal });
}
