/** What the views of runs ask the server. */
import type {
  Page,
  QuarantinedRun,
  RunEventRecord,
  RunSnapshot,
  RunStatus,
  RunSummary,
  VerifyReport,
} from '@tidemark/core/portable';
import { ask, askText, resource } from '../live/http.ts';

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

export const RUN_STATUSES: readonly RunStatus[] = ['RUNNING', 'PAUSED', 'FAILED', 'PENDING', 'COMPLETED', 'CANCELLED'];

export function listRuns(
  filter: RunsFilter,
  page: { cursor?: string | undefined; limit: number },
  signal: AbortSignal,
): Promise<Page<RunSummary>> {
  return ask(resource('runs'), { query: { ...filter, ...page }, signal });
}

/** Runs in which damage was found, of all tenants or of one. */
export function listQuarantined(tenantId: string | undefined, limit: number, signal: AbortSignal) {
  return ask<Page<QuarantinedRun>>(resource('quarantines'), { query: { tenantId, limit }, signal });
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
  const text = await askText(resource('runs', run.runId, 'events'), { query, ...(signal ? { signal } : {}) });
  return { events: (JSON.parse(text) as { items: RunEventRecord[] }).items, size: text.length };
}

/** The first event tells whose run it is where the address does not; `null` where there is no such run. */
export async function firstEvent(runId: string, signal: AbortSignal): Promise<RunEventRecord | null> {
  const asking = { query: { limit: 1 }, signal };
  return (await ask<Page<RunEventRecord>>(resource('runs', runId, 'events'), asking)).items[0] ?? null;
}

export async function headSeq(run: RunName, signal?: AbortSignal): Promise<number> {
  const asking = { query: of(run), ...(signal ? { signal } : {}) };
  return (await ask<{ seq: number }>(resource('runs', run.runId, 'head'), asking)).seq;
}

/** The stored snapshot, which may lag. */
export function storedSnapshot(run: RunName, signal: AbortSignal): Promise<RunSnapshot> {
  return ask(resource('runs', run.runId), { query: of(run), signal });
}

/** The snapshot folded from the log, now or at a sequence. */
export function snapshotAt(run: RunName, atSeq: number | undefined, signal: AbortSignal): Promise<RunSnapshot> {
  return ask(resource('runs', run.runId, 'snapshot'), { query: { ...of(run), atSeq }, signal });
}

export function verifyRun(run: RunName, signal: AbortSignal): Promise<VerifyReport> {
  return ask(resource('runs', run.runId, 'integrity'), { query: of(run), signal });
}
