/** What the views of runs ask the server. */
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
import { ask, askText } from '../live/http.ts';

/** Whose run, and which. */
export interface RunName {
  tenantId: string;
  runId: string;
}

/** Which runs to list, as the address has it; what is absent does not matter. */
export interface RunsFilter {
  tenantId?: string;
  projectId?: string;
  environmentId?: string;
  planId?: string;
  status?: RunStatus;
  updatedAfter?: string;
}

/** Statuses that somebody may have to act on: the filter shows them first. */
const ACTIVE: readonly RunStatus[] = ['RUNNING', 'PAUSED', 'FAILED'];

/** Every status, in the order of the filter. */
export const STATUS_CHOICES = [...ACTIVE, ...RUN_STATUSES.filter((status) => !ACTIVE.includes(status))];

export function listRuns(
  filter: RunsFilter,
  page: { cursor?: string | undefined; limit: number },
  signal: AbortSignal,
): Promise<Page<RunSummary>> {
  return ask('GET /v1/runs', { query: { ...filter, ...page }, signal });
}

/** Runs in which damage was found, of all tenants or of one. */
export function listQuarantined(tenantId: string | undefined, limit: number, signal: AbortSignal) {
  return ask('GET /v1/quarantines', { query: { tenantId, limit }, signal });
}

/** The quarantine of a run; `undefined` while it has none. */
export async function quarantineOf(run: RunName, signal: AbortSignal): Promise<QuarantinedRun | undefined> {
  const { items } = await listQuarantined(run.tenantId, MOST_QUARANTINED, signal);
  return items.find(({ runId }) => runId === run.runId);
}

const MOST_QUARANTINED = 1_000;

const of = ({ tenantId }: RunName) => ({ tenantId });

/** A page of events, with the size of its text. */
export async function fetchEvents(run: RunName, afterSeq: number, limit: number, signal?: AbortSignal) {
  const query = { ...of(run), afterSeq, limit };
  const text = await askText('GET /v1/runs/{runId}/events', {
    params: { runId: run.runId },
    query,
    ...(signal ? { signal } : {}),
  });
  return { events: (JSON.parse(text) as { items: RunEventRecord[] }).items, size: text.length };
}

/** The first event tells whose run it is where the address does not; `null` where there is no such run. */
export async function firstEvent(runId: string, signal: AbortSignal): Promise<RunEventRecord | null> {
  return (
    (await ask('GET /v1/runs/{runId}/events', { params: { runId }, query: { limit: 1 }, signal })).items[0] ?? null
  );
}

export async function headSeq(run: RunName, signal?: AbortSignal): Promise<number> {
  return (
    await ask('GET /v1/runs/{runId}/head', {
      params: { runId: run.runId },
      query: of(run),
      ...(signal ? { signal } : {}),
    })
  ).seq;
}

/** The stored snapshot, which may lag. */
export function storedSnapshot(run: RunName, signal: AbortSignal): Promise<RunSnapshot> {
  return ask('GET /v1/runs/{runId}', { params: { runId: run.runId }, query: of(run), signal });
}

/** The snapshot folded from the log, now or at a sequence. */
export function snapshotAt(run: RunName, atSeq: number | undefined, signal: AbortSignal): Promise<RunSnapshot> {
  return ask('GET /v1/runs/{runId}/snapshot', { params: { runId: run.runId }, query: { ...of(run), atSeq }, signal });
}

export function verifyRun(run: RunName, signal: AbortSignal): Promise<VerifyReport> {
  return ask('GET /v1/runs/{runId}/integrity', { params: { runId: run.runId }, query: of(run), signal });
}
