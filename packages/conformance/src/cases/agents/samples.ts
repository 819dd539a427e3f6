/** Sample records of the agent cases, with every field set so that a round trip tests them all. */
import type {
  AgentStore,
  Capability,
  JsonObject,
  PlannerEvent,
  RemoteBinding,
  StateUpdate,
  SteeringEvent,
  StoredEvent,
  TaskState,
  TidemarkError,
} from '@tidemark/core';
import { expect } from '../../expect.ts';
import type { Bench, ConformanceCase, Domain } from '../../kit.ts';

type CaseBody = Omit<ConformanceCase, 'domain' | 'needs'>;

/** Returns a function that defines cases of one domain which share the capabilities they need. */
export function casesOf(domain: Domain, ...needs: Capability[]): (body: CaseBody) => ConformanceCase {
  return (body) => ({ ...body, domain, needs });
}

/** Returns the agents of the same tenant as seen by another client of the same data. */
export async function peerAgents(bench: Bench): Promise<AgentStore> {
  return (await bench.peer()).forTenant(bench.tenantId).agents;
}

/** Returns RFC 3339 text, some milliseconds after a fixed time. */
export function at(ms: number): string {
  return new Date(Date.UTC(2026, 1, 16, 9, 30) + ms).toISOString();
}

export function flowEvent(traceId: string | null, changes: Partial<StoredEvent> = {}): StoredEvent {
  const base = { traceId, ts: 1_702_857_600.125, kind: 'node_success', nodeName: 'llm', nodeId: 'llm_abc123' };
  return { ...base, payload: { event: 'node_success', latency_ms: 1523.45, attempt: 1 }, ...changes };
}

export function binding(traceId: string, changes: Partial<RemoteBinding> = {}): RemoteBinding {
  return { traceId, contextId: 'context', taskId: 'task', agentUrl: 'https://worker.example:8080/a2a', ...changes };
}

export function pausePayload(changes: JsonObject = {}): JsonObject {
  const trajectory = { query: 'book a flight', steps: [{ action: 'oauth', observation: null }] };
  return {
    trajectory,
    reason: 'approval_required',
    payload: { amount: 12 },
    constraints: null,
    tool_context: {},
    ...changes,
  };
}

export function memoryState(turn = 1): JsonObject {
  return {
    version: 1,
    health: 'healthy',
    summary: `after turn ${turn}`,
    turns: [{ user: 'hello', assistant: 'hi' }],
    pending: [],
  };
}

export function task(sessionId: string, changes: Partial<TaskState> = {}): TaskState {
  return {
    taskId: 'task',
    sessionId,
    status: 'RUNNING',
    taskType: 'BACKGROUND',
    priority: 3,
    contextSnapshot: { query: 'summarise', propagate_on_cancel: 'cascade', memory: {} },
    traceId: 'trace',
    result: { pages: [1, 2] },
    error: null,
    description: 'Summarise the report',
    progress: { label: 'reading', done: 0.5 },
    createdAt: at(0),
    updatedAt: at(0),
    ...changes,
  };
}

export function update(sessionId: string, updateId: string, changes: Partial<StateUpdate> = {}): StateUpdate {
  return {
    sessionId,
    taskId: 'task',
    traceId: 'trace',
    updateId,
    updateType: 'PROGRESS',
    content: { label: updateId },
    stepIndex: 1,
    totalSteps: 4,
    createdAt: at(0),
    ...changes,
  };
}

export function steering(sessionId: string, eventId: string, changes: Partial<SteeringEvent> = {}): SteeringEvent {
  return {
    sessionId,
    taskId: 'task',
    eventId,
    eventType: 'USER_MESSAGE',
    payload: { text: eventId },
    traceId: 'trace',
    source: 'user',
    createdAt: at(0),
    ...changes,
  };
}

export function trajectory(label = 'first'): JsonObject {
  return {
    query: label,
    steps: [{ action: { next_node: 'search' }, observation: { hits: 3 }, error: null }],
    summary: null,
  };
}

export function plannerEvent(changes: Partial<PlannerEvent> = {}): PlannerEvent {
  return {
    eventType: 'step_complete',
    ts: 1_702_857_600.5,
    trajectoryStep: 1,
    thought: 'search first',
    nodeName: 'search',
    latencyMs: 12.5,
    tokenEstimate: 840,
    error: null,
    extra: { tool: 'web' },
    ...changes,
  };
}

/** Expects that the error names the wrong argument, alone or as the end of a path. */
export function expectField(error: TidemarkError, field: string): void {
  const named = error.field === field || error.field?.endsWith(`.${field}`);
  expect(named, `the error names the field ${field}, not ${error.field}: ${error.message}`);
}

/** Makes the calls one after the other, so that the order of arrival is the order of the list. */
export async function inOrder<T>(items: readonly T[], call: (item: T) => Promise<unknown>): Promise<void> {
  for (const item of items) await call(item);
}
