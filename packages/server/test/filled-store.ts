/** A store with at least one item of every kind, in two tenants, for the differential test. */
import { EXPIRY_LABEL, type OverdueJob, type RunEventInput, type RunPart, type Store } from '@tidemark/core';

export const TENANT = 'default';
export const AT = '2026-02-03T04:05:06.789Z';

/** Values of the filled store that calls refer to. */
export interface Filled {
  artifactId: string;
  revision: number;
  pauseId: string;
  pauseClaimId: string;
  parts: RunPart[];
  overdue: OverdueJob;
  feedCursor: string;
  cursors: Record<
    | 'runs'
    | 'expired'
    | 'kv'
    | 'deletePrefix'
    | 'jobs'
    | 'pauses'
    | 'memory'
    | 'sessions'
    | 'artifacts'
    | 'tenants'
    | 'traces'
    | 'removed'
    | 'storedArtifacts'
    | 'totals'
    | 'check',
    string
  >;
}

export function event(runId: string, key: string, changes: Partial<RunEventInput> = {}): RunEventInput {
  return {
    eventId: `00000000-0000-4000-8000-${Buffer.from(`${runId}${key}`).toString('hex').padEnd(12, '0').slice(0, 12)}`,
    eventType: 'Progress',
    emittedAt: AT,
    runId,
    tenantId: TENANT,
    projectId: 'project',
    environmentId: 'environment',
    planId: 'plan',
    planVersion: '1',
    engineAttemptId: 1,
    logicalAttemptId: 1,
    idempotencyKey: key,
    payload: { key },
    ...changes,
  };
}

export const task = () => ({
  taskId: 'task-9',
  sessionId: 'session',
  status: 'RUNNING' as const,
  taskType: 'BACKGROUND' as const,
  priority: 1,
  contextSnapshot: { a: 1 },
  traceId: 'trace',
  result: { b: 1 },
  error: { c: 1 },
  description: 'words',
  progress: { d: 1 },
  createdAt: AT,
  updatedAt: AT,
});

export const update = () => ({
  sessionId: 'session',
  taskId: 'task',
  traceId: 'trace',
  updateId: 'update-9',
  updateType: 'PROGRESS' as const,
  content: { a: 1 },
  stepIndex: 1,
  totalSteps: 2,
  createdAt: AT,
});

export const steering = () => ({
  sessionId: 'session',
  taskId: 'task',
  eventId: 'steering-9',
  eventType: 'USER_MESSAGE' as const,
  payload: { text: 'hello' },
  traceId: 'trace',
  source: 'user',
  createdAt: AT,
});

export const flowEvent = () => ({
  traceId: 'trace',
  ts: 5.5,
  kind: 'node_success',
  nodeName: 'name',
  nodeId: 'id',
  payload: { a: 1 },
  eventId: 'flow-9',
});

export const plannerEvent = () => ({
  eventType: 'step_complete',
  ts: 5.5,
  trajectoryStep: 1,
  thought: 'thought',
  nodeName: 'name',
  latencyMs: 1,
  tokenEstimate: 2,
  error: 'error',
  extra: { a: 1 },
  eventId: 'planner-9',
});

/** Adds at least one item of every kind in two tenants, and returns the values that calls refer to. */
export async function fill(store: Store): Promise<Filled> {
  await fillTenant(store.forTenant('acme'), 'acme');
  await fillTenant(store, TENANT);
  const { items } = await store.artifacts.list();
  const parts: RunPart[] = [];
  for await (const part of store.runs.exportRun('run-1', { tenantId: TENANT })) parts.push(part);
  const { items: pauses } = await store.agents.listPauses();
  const overdue = await store.jobs.overdue('mail', { threshold: 1 });
  const feed = (await store.runs.feedPage()).items.find(({ event }) => event.tenantId === TENANT);
  const { claimId } = (await store.agents.claimPause('token-2', { requestId: 'claimed before' }))!;
  const own = items.findIndex(({ scope }) => scope.userId === 'user');
  const next = async (list: Promise<{ next?: string }>) => (await list).next!;
  const one = { limit: 1 };
  return {
    artifactId: items[own]!.id,
    revision: (await store.kv.get('key-1'))!.revision,
    pauseId: pauses.find(({ sessionId }) => sessionId === 'session')!.pauseId,
    pauseClaimId: claimId,
    parts,
    overdue: overdue.find(({ job }) => job.taskId === 'pending')!,
    feedCursor: feed!.cursor,
    cursors: {
      runs: await next(store.runs.listRuns(one)),
      expired: await next(store.runs.deleteExpired(one)),
      kv: await next(store.kv.scanPage('key-', { ...one, reverse: true })),
      deletePrefix: await next(store.kv.deletePrefix('gone-', one)),
      jobs: await next(store.jobs.list('pending', one)),
      pauses: await next(store.agents.listPauses(one)),
      memory: await next(store.agents.listMemory(one)),
      sessions: await next(store.agents.listSessions(one)),
      artifacts: await next(store.artifacts.list({}, { limit: own })),
      tenants: await next(store.admin.listTenants(one)),
      traces: await next(store.admin.listAllTraces(one)),
      removed: await next(store.admin.listRemovedRuns(one)),
      storedArtifacts: await next(store.admin.listArtifacts({ ...one, tenantId: TENANT })),
      totals: await next(store.admin.artifactTotals(one)),
      check: await next(store.admin.check(one)),
    },
  };
}

/** Appends to a run that expires at once. */
async function expiredRun(runs: Store['runs'], runId: string, tenantId: string): Promise<void> {
  const labels = { [EXPIRY_LABEL]: '1ms any' };
  await runs.appendEvent(event(runId, 'only', { tenantId, labels }));
}

async function fillTenant({ runs, kv, jobs, agents, artifacts }: Store, tenantId: string): Promise<void> {
  const events = (runId: string, count: number, changes: Partial<RunEventInput> = {}) =>
    runs.appendEvents(Array.from({ length: count }, (_, n) => event(runId, `k${n}`, { tenantId, ...changes })));
  await expiredRun(runs, `${tenantId}-expired-1`, tenantId);
  await events('run-1', 4, { labels: { x: '1' } });
  await events('run-2', 1, { parentRunId: 'run-1' });
  await events('run-3', 1, { eventType: 'RunStarted', labels: { x: '1' }, parentRunId: 'run-1' });
  await events('run-4', 1);
  await events('archived', 1);
  await events('deleted', 1);
  await runs.deleteRun('deleted', { tenantId });
  await runs.archiveRun('archived', { tenantId, location: 'place', expectedSeq: 1 });
  await runs.refreshSnapshot('run-1', { tenantId });
  for (const n of [1, 2, 3]) await kv.put(`key-${n}`, { a: '1', b: String(n) });
  for (const n of [1, 2]) await kv.put(`gone-${n}`, { a: '1' });
  for (const taskId of ['claimed', 'failed', 'pending', 'waiting']) await jobs.enqueue({ taskType: 'mail', taskId });
  await jobs.enqueue({ taskType: 'mail', taskId: 'delayed', delay: '1h' });
  await jobs.claim({ taskType: 'mail', taskId: 'claimed' }, { worker: 'worker', claimId: 'claim-1' });
  const failing = await jobs.claim({ taskType: 'mail', taskId: 'failed' }, { worker: 'worker', claimId: 'claim-2' });
  await jobs.fail(failing!, { error: 'broken', retry: false });
  for (const n of [1, 2]) {
    await agents.savePlannerState(`token-${n}`, { reason: 'wait' }, { sessionId: n === 1 ? 'session' : 'other' });
    await agents.saveMemoryState(`memory-${n}`, { a: 1 });
    await agents.saveUpdate({ ...update(), updateId: `update-${n}` });
    await agents.saveSteering({ ...steering(), eventId: `steering-${n}` });
    const traceId = n === 1 ? 'trace' : 'trace-2';
    await agents.saveTrajectory(traceId, 'session', { query: 'what' });
    await agents.saveEvent({ ...flowEvent(), traceId, eventId: `flow-${n}` });
    await agents.savePlannerEvent(traceId, { ...plannerEvent(), eventId: `planner-${n}` });
  }
  await agents.saveTask({ ...task(), taskId: 'task' });
  await agents.saveTask({ ...task(), sessionId: 'other' });
  await agents.saveEvent({ ...flowEvent(), traceId: null, eventId: 'flow-0' });
  await agents.saveRemoteBinding({ traceId: 'trace', contextId: null, taskId: 'task', agentUrl: 'https://a.example' });
  await agents.saveRemoteBinding({
    traceId: 'trace',
    contextId: 'context',
    taskId: 'task',
    agentUrl: 'https://b.example',
    routerSessionId: 'session',
    remoteSkill: 'translate',
    tenantId: 'remote',
    userId: 'user',
    lastRemoteTaskId: 'task-7',
    metadata: { b: 2 },
  });
  const scope = { tenantId, userId: 'user', sessionId: 'session', traceId: 'trace' };
  await artifacts.putText('text', { scope, ttl: null });
  for (const n of [1, 2, 3, 4]) await artifacts.putText(`of nobody ${n}`, { ttl: null });
}
