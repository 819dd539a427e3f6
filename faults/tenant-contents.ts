/** Sample data of every kind for a tenant, and the remaining data in a store, for checks of erasures from outside. */
import { memoryKey, type Store } from '@tidemark/core';
import { runEvent } from './run-event.ts';

const LARGE_BYTES = 700 * 1024;

/** Saves data of every kind. The tenant's id is in every payload, so that leftovers can be found anywhere. */
export async function fillTenant(store: Store, tenantId: string, runs = 3, eventsPerRun = 25): Promise<void> {
  const { agents, artifacts, kv, jobs, runs: log } = store.forTenant(tenantId);
  const text = `secret of ${tenantId}`;
  for (let run = 0; run < runs; run++) {
    const runId = `run-${run}`;
    const events = Array.from({ length: eventsPerRun }, (_, n) => ({ ...runEvent(runId, `${n}`, { text }), tenantId }));
    await log.appendEvents(events);
    await log.refreshSnapshot(runId);
  }
  await log.appendEvent({ ...runEvent('deleted', '1', { text }), tenantId });
  await log.deleteRun('deleted');
  for (let n = 0; n < 20; n++) await kv.put(`key-${n}`, { text }, n % 2 === 0 ? {} : { ttl: '1h' });
  await jobs.enqueue({ taskType: 'mail', taskId: 'job_1' });
  await jobs.claim({ taskType: 'mail' }, { worker: 'worker' });
  for (const sessionId of ['session-1', 'session-2']) {
    const traceId = `trace of ${sessionId}`;
    const at = new Date().toISOString();
    const base = { sessionId, taskId: 'task', traceId, createdAt: at };
    await agents.saveTask({
      ...base,
      status: 'RUNNING',
      taskType: 'BACKGROUND',
      priority: 1,
      contextSnapshot: { text },
      result: null,
      error: null,
      description: text,
      progress: null,
      updatedAt: at,
    });
    const update = { ...base, updateType: 'PROGRESS', content: { text }, stepIndex: 1, totalSteps: 2 } as const;
    for (let n = 0; n < 5; n++) await agents.saveUpdate({ ...update, updateId: `u${n}` });
    await agents.saveSteering({ ...base, eventId: 's', eventType: 'USER_MESSAGE', payload: { text }, source: 'user' });
    await agents.saveTrajectory(traceId, sessionId, { query: text });
    const event = { ts: 1, kind: 'node_success', nodeName: 'n', nodeId: 'n', payload: { text } };
    await agents.saveEvents([
      { ...event, traceId },
      { ...event, traceId: null, nodeName: sessionId },
    ]);
    await agents.saveRemoteBinding({
      traceId,
      contextId: null,
      taskId: 'task',
      agentUrl: `https://${tenantId}`,
      routerSessionId: sessionId,
      remoteSkill: 'skill',
      metadata: { text },
    });
    await agents.savePlannerEvent(traceId, {
      eventType: 'step_complete',
      ts: 1,
      trajectoryStep: 1,
      thought: text,
      nodeName: 'n',
      latencyMs: 1,
      tokenEstimate: 1,
      error: null,
      extra: {},
    });
    await agents.savePlannerState(`token ${tenantId} ${sessionId}`, { reason: text }, { sessionId });
    await agents.saveMemoryState(memoryKey(tenantId, 'user', sessionId), { text });
    const scope = { sessionId, traceId };
    await artifacts.putText(`${text} ${sessionId}`, { scope, ttl: null });
    await artifacts.putBytes(Buffer.alloc(LARGE_BYTES, `${text} ${sessionId} `), { scope, ttl: null });
  }
}

/** The numbers that an erasure must report after `fillTenant`. */
export const FILLED = { runs: 4, kv: 21, events: 4, updates: 10, trajectories: 2, artifacts: 4, pauses: 2 };

/** Returns what a store has of a tenant filled by `fillTenant`, in a comparable form. */
export async function contentsOf(store: Store, tenantId: string): Promise<Record<string, unknown>> {
  const { agents, artifacts, kv, runs } = store.forTenant(tenantId);
  const { items } = await runs.listRuns();
  // Whether a snapshot is already stored is not part of the contents.
  const verified = await Promise.all(
    items.map(async ({ runId }) => ({ ...(await runs.verify(runId)), snapshot: undefined })),
  );
  const sessions = (await agents.listSessions()).items.map(({ sessionId }) => sessionId);
  const ofSessions = await Promise.all(
    ['session-1', 'session-2'].map(async (sessionId) => {
      const traceId = `trace of ${sessionId}`;
      const { items: refs } = await artifacts.list({ sessionId });
      const bytes = await Promise.all(refs.map(({ id }) => artifacts.get(id)));
      return [
        (await agents.listTasks(sessionId)).length,
        (await agents.listUpdates(sessionId)).length,
        (await agents.listSteering(sessionId)).length,
        await agents.listTraces(sessionId),
        (await agents.loadHistory(traceId)).length,
        (await agents.listRemoteBindings(traceId)).length,
        (await agents.listBindings(sessionId)).length,
        (await agents.listPlannerEvents(traceId)).length,
        await agents.loadMemoryState(memoryKey(tenantId, 'user', sessionId)),
        bytes.map((it) => it?.length).sort(),
      ];
    }),
  );
  const keys = (await kv.scanPage('', { limit: 1_000 })).items.map(({ key }) => key);
  const pauses = (await agents.listPauses()).items.length;
  const untraced = (await agents.loadHistory(null)).length;
  return {
    runs: verified.map(({ runId, ok, events, head }) => [runId, ok, events, head]),
    sessions,
    ofSessions,
    keys,
    pauses,
    untraced,
  };
}
