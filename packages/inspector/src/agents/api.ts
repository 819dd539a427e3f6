/** Server requests of the session views. */
import type {
  JsonObject,
  MemoryRecord,
  Page,
  PauseInfo,
  PlannerEvent,
  SessionInfo,
  SessionPage,
  StateUpdate,
  SteeringEvent,
  StoredEvent,
  TaskState,
} from '@tidemark/core/portable';
import { ask } from '../live/http.ts';
import type { Tenant } from '../live/tenant.ts';

interface PageWanted {
  cursor: string | undefined;
  limit: number;
}

interface LogWanted {
  sinceId?: string | undefined;
  taskId?: string;
  limit: number;
}

export function listSessions(page: PageWanted, tenant: Tenant, signal: AbortSignal): Promise<Page<SessionInfo>> {
  return ask('GET /v1/sessions', { query: { ...page, tenant }, signal });
}

export async function listTasks(sessionId: string, tenant: Tenant, signal: AbortSignal): Promise<TaskState[]> {
  return (await ask('GET /v1/sessions/{sessionId}/tasks', { params: { sessionId }, query: { tenant }, signal })).items;
}

export function listUpdates(
  sessionId: string,
  wanted: LogWanted,
  tenant: Tenant,
  signal: AbortSignal,
): Promise<SessionPage<StateUpdate>> {
  return ask('GET /v1/sessions/{sessionId}/updates', { params: { sessionId }, query: { ...wanted, tenant }, signal });
}

export function listSteering(
  sessionId: string,
  wanted: LogWanted,
  tenant: Tenant,
  signal: AbortSignal,
): Promise<SessionPage<SteeringEvent>> {
  return ask('GET /v1/sessions/{sessionId}/steering', { params: { sessionId }, query: { ...wanted, tenant }, signal });
}

/** Safe to retry, because the server keeps the first event with an id. */
export async function saveSteering(event: SteeringEvent, tenant: Tenant): Promise<void> {
  await ask('POST /v1/sessions/{sessionId}/steering', {
    params: { sessionId: event.sessionId },
    query: { tenant },
    body: event,
  });
}

export async function listTraces(sessionId: string, tenant: Tenant, signal: AbortSignal): Promise<string[]> {
  return (
    await ask('GET /v1/sessions/{sessionId}/traces', { params: { sessionId }, query: { limit: 1_000, tenant }, signal })
  ).items;
}

export function getTrajectory(
  sessionId: string,
  traceId: string,
  tenant: Tenant,
  signal: AbortSignal,
): Promise<JsonObject> {
  return ask('GET /v1/sessions/{sessionId}/trajectories/{traceId}', {
    params: { sessionId, traceId },
    query: { tenant },
    signal,
  });
}

export async function listPlannerEvents(traceId: string, tenant: Tenant, signal: AbortSignal): Promise<PlannerEvent[]> {
  return (await ask('GET /v1/traces/{traceId}/planner-events', { params: { traceId }, query: { tenant }, signal }))
    .items;
}

export async function loadHistory(traceId: string, tenant: Tenant, signal: AbortSignal): Promise<StoredEvent[]> {
  return (await ask('GET /v1/flow-events', { query: { traceId, tenant }, signal })).items;
}

export type MemoryInfo = Omit<MemoryRecord, 'state'>;

export function listMemory(page: PageWanted, tenant: Tenant, signal: AbortSignal): Promise<Page<MemoryInfo>> {
  return ask('GET /v1/memory', { query: { ...page, tenant }, signal });
}

export function getMemory(key: string, tenant: Tenant, signal: AbortSignal): Promise<MemoryRecord> {
  return ask('GET /v1/memory/{key}', { params: { key }, query: { tenant }, signal });
}

export function listPauses(
  page: PageWanted & { sessionId?: string | undefined },
  tenant: Tenant,
  signal: AbortSignal,
): Promise<Page<PauseInfo>> {
  return ask('GET /v1/pauses', { query: { ...page, tenant }, signal });
}

/** Returns the content of a pause without consuming it; for operators only. */
export async function readPause(pauseId: string, tenant: Tenant, signal: AbortSignal): Promise<JsonObject> {
  return (await ask('GET /v1/admin/pauses/{pauseId}', { params: { pauseId }, query: { tenantId: tenant }, signal }))
    .payload as JsonObject;
}
