/** What the views of sessions ask the server. */
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
import { ask, resource } from '../live/http.ts';
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

interface Items<T> {
  items: T[];
}

export function listSessions(page: PageWanted, tenant: Tenant, signal: AbortSignal): Promise<Page<SessionInfo>> {
  return ask(resource('sessions'), { query: { ...page, tenant }, signal });
}

export async function listTasks(sessionId: string, tenant: Tenant, signal: AbortSignal): Promise<TaskState[]> {
  return (await ask<Items<TaskState>>(resource('sessions', sessionId, 'tasks'), { query: { tenant }, signal })).items;
}

export function listUpdates(
  sessionId: string,
  wanted: LogWanted,
  tenant: Tenant,
  signal: AbortSignal,
): Promise<SessionPage<StateUpdate>> {
  return ask(resource('sessions', sessionId, 'updates'), { query: { ...wanted, tenant }, signal });
}

export function listSteering(
  sessionId: string,
  wanted: LogWanted,
  tenant: Tenant,
  signal: AbortSignal,
): Promise<SessionPage<SteeringEvent>> {
  return ask(resource('sessions', sessionId, 'steering'), { query: { ...wanted, tenant }, signal });
}

/** The first event of an id stands, so that it can be sent again. */
export function saveSteering(event: SteeringEvent, tenant: Tenant): Promise<void> {
  return ask(resource('sessions', event.sessionId, 'steering'), { method: 'POST', query: { tenant }, body: event });
}

export async function listTraces(sessionId: string, tenant: Tenant, signal: AbortSignal): Promise<string[]> {
  const asking = { query: { limit: 1_000, tenant }, signal };
  return (await ask<Items<string>>(resource('sessions', sessionId, 'traces'), asking)).items;
}

export function getTrajectory(
  sessionId: string,
  traceId: string,
  tenant: Tenant,
  signal: AbortSignal,
): Promise<JsonObject> {
  return ask(resource('sessions', sessionId, 'trajectories', traceId), { query: { tenant }, signal });
}

export async function listPlannerEvents(traceId: string, tenant: Tenant, signal: AbortSignal): Promise<PlannerEvent[]> {
  const path = resource('traces', traceId, 'planner-events');
  return (await ask<Items<PlannerEvent>>(path, { query: { tenant }, signal })).items;
}

export async function loadHistory(traceId: string, tenant: Tenant, signal: AbortSignal): Promise<StoredEvent[]> {
  return (await ask<Items<StoredEvent>>(resource('flow-events'), { query: { traceId, tenant }, signal })).items;
}

export type MemoryInfo = Omit<MemoryRecord, 'state'>;

export function listMemory(page: PageWanted, tenant: Tenant, signal: AbortSignal): Promise<Page<MemoryInfo>> {
  return ask(resource('memory'), { query: { ...page, tenant }, signal });
}

export function getMemory(key: string, tenant: Tenant, signal: AbortSignal): Promise<MemoryRecord> {
  return ask(resource('memory', key), { query: { tenant }, signal });
}

export function listPauses(
  page: PageWanted & { sessionId?: string | undefined },
  tenant: Tenant,
  signal: AbortSignal,
): Promise<Page<PauseInfo>> {
  return ask(resource('pauses'), { query: { ...page, tenant }, signal });
}

/** What a pause holds, without consuming it; for operators. */
export async function readPause(pauseId: string, tenant: Tenant, signal: AbortSignal): Promise<JsonObject> {
  const asking = { query: { tenantId: tenant }, signal };
  return (await ask<{ payload: JsonObject }>(resource('admin', 'pauses', pauseId), asking)).payload;
}
