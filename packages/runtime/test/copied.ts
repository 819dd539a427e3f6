/** Fills a store with data of every kind and reads everything back, to compare a copy with its source. */
import { mintPauseToken, type Store } from '@tidemark/core';

const AT = '2026-02-16T09:30:00.000Z';

export interface Filled {
  /** Tokens of waiting pauses with their payloads. */
  pauses: Map<string, object>;
}

/** Fills two tenants with `runs` of 1 to 20 events each, and one run of 2 500. */
export async function fill(store: Store, runs = 12): Promise<Filled> {
  const pauses = new Map<string, object>();
  for (const tenantId of ['default', 'acme']) {
    const view = store.forTenant(tenantId);
    await fillRuns(view, runs);
    await fillDocuments(view);
    await fillAgents(view, pauses, tenantId);
  }
  await fillLong(store);
  return { pauses };
}

/** Adds a run of 2 500 events, which takes several parts. */
export async function fillLong({ runs }: Store): Promise<void> {
  const events = Array.from({ length: 500 }, () => ({
    runId: 'long',
    eventId: crypto.randomUUID(),
    eventType: 'Progress',
    emittedAt: AT,
    projectId: 'p',
    environmentId: 'e',
    tenantId: 'acme',
    planId: 'plan',
    planVersion: '1',
    engineAttemptId: 1,
    logicalAttemptId: 1,
    payload: { text: 'ä\u0000\ud83d\ude00' },
  }));
  for (let batch = 0; batch < 5; batch++)
    await runs.appendEvents(events.map((event) => ({ ...event, eventId: crypto.randomUUID() })));
}

async function fillRuns(view: Store, runs: number): Promise<void> {
  for (let n = 0; n < runs; n++) {
    const run = view.runs.handle(`run-${n}/ü %`, { labels: { n: String(n) } });
    await run.append('RunStarted', { n });
    for (let at = 0; at < n % 20; at++) await run.append('Progress', { at });
    if (n % 3 === 0) await run.append('RunCompleted');
  }
}

async function fillDocuments({ kv, jobs, artifacts }: Store): Promise<void> {
  for (let n = 0; n < 150; n++) await kv.put(`key-${n}`, { text: `v${n}`, bytes: new Uint8Array([0, 255, n]) });
  await kv.put('short', { a: 1 }, { ttl: '1h' });
  await kv.put('tidemark.subscriptions.mine.shard-0', { cursor: 'of this engine' });
  await jobs.enqueue({ taskType: 'mail', taskId: 'waiting', priority: 5 });
  await jobs.enqueue({ taskType: 'mail', taskId: 'done' });
  await jobs.complete((await jobs.claim({ taskType: 'mail', taskId: 'done' }, { worker: 'ada' }))!);
  await artifacts.putText('hello', {
    filename: 'hello.txt',
    scope: { sessionId: 's1' },
    ttl: '2h',
    source: { by: 'me' },
  });
  await artifacts.putBytes(new Uint8Array(700_000).fill(7), { namespace: 'big', ttl: null });
}

async function fillAgents({ agents }: Store, pauses: Map<string, object>, tenantId: string): Promise<void> {
  for (const traceId of ['t1', 't2', null])
    await agents.saveEvents(
      Array.from({ length: 30 }, (_, n) => ({
        ...{ traceId, ts: 100 - n / 2, kind: 'node_start', nodeName: `node-${n % 3}`, nodeId: null, payload: { n } },
      })),
    );
  await agents.saveRemoteBinding({ traceId: 't1', contextId: null, taskId: 'a', agentUrl: 'https://one.example' });
  await agents.saveRemoteBinding({ traceId: 'bound', contextId: 'c', taskId: 'b', agentUrl: 'https://two.example' });
  for (const traceId of ['t2', 'routed 2', 'routed 1', 'routed 3']) {
    const about = { routerSessionId: 'router', remoteSkill: 'translate', metadata: { tenantId } };
    await agents.saveRemoteBinding({
      traceId,
      contextId: null,
      taskId: 'r',
      agentUrl: 'https://three.example',
      ...about,
    });
  }
  for (let n = 0; n < 5; n++) await agents.saveMemoryState(`chat:${n}`, { messages: [n], tenantId });
  for (const sessionId of ['s1', 's2']) await fillSession(agents, sessionId);
  for (let n = 0; n < 3; n++) {
    const token = mintPauseToken();
    const payload = { step: n, reason: `because ${n}` };
    await agents.savePlannerState(token, payload, { ttl: '1h', sessionId: 's1' });
    if (tenantId === 'acme') pauses.set(token, payload);
  }
}

async function fillSession(agents: Store['agents'], sessionId: string): Promise<void> {
  const about = { sessionId, taskId: 'task', createdAt: AT };
  await agents.saveTask({
    ...{ ...about, status: 'RUNNING', taskType: 'FOREGROUND', priority: 1, contextSnapshot: { a: [1] }, updatedAt: AT },
  });
  for (let n = 0; n < 20; n++)
    await agents.saveUpdate({ ...about, updateId: `u${19 - n}`, updateType: 'PROGRESS', content: { n } });
  await agents.saveSteering({ ...about, eventId: 'e1', eventType: 'USER_MESSAGE', payload: { text: 'go on' } });
  for (const traceId of ['z', 'a', 'm']) {
    await agents.saveTrajectory(`${sessionId}-${traceId}`, sessionId, { steps: [traceId] });
    for (let n = 0; n < 3; n++)
      await agents.savePlannerEvent(`${sessionId}-${traceId}`, { eventType: 'step', ts: n, trajectoryStep: 2 - n });
  }
}

/** Returns everything that a copy must carry over. */
export async function contentsOf(store: Store): Promise<unknown> {
  const tenants: Record<string, unknown> = {};
  for (const tenantId of (await store.admin.listTenants()).items) {
    const view = store.forTenant(tenantId);
    tenants[tenantId] = {
      runs: await runsOf(view),
      kv: await kvOf(view),
      artifacts: await artifactsOf(view),
      agents: await agentsOf(view),
    };
  }
  return tenants;
}

async function runsOf({ runs }: Store): Promise<unknown> {
  const { items } = await runs.listRuns({ limit: 1_000, order: 'oldest' });
  const logs = [];
  for (const summary of items) {
    const events = await Array.fromAsync(runs.readEvents(summary.runId));
    // Copies do not include snapshots.
    const { snapshot: _, ...verified } = await runs.verify(summary.runId);
    logs.push({ summary, events, verified });
  }
  return logs.sort((a, b) => (a.summary.runId < b.summary.runId ? -1 : 1));
}

async function kvOf({ kv, jobs }: Store): Promise<unknown> {
  const records = (await Array.fromAsync(kv.scan('')))
    .filter(({ key }) => !key.startsWith('tidemark.'))
    .map(({ key, record }) => {
      const fields = Object.entries(record.fields).map(([name, bytes]) => [name, Buffer.from(bytes).toString('hex')]);
      return [key, fields.sort(), record.ttl === undefined ? 'for ever' : 'for a while'];
    });
  const pending = (await jobs.list('pending')).items.map(({ taskId, priority }) => [taskId, priority]);
  return { records, pending, completed: (await jobs.list('completed')).items.map(({ taskId }) => taskId) };
}

async function artifactsOf({ artifacts }: Store): Promise<unknown> {
  const refs = (await artifacts.list()).items;
  return Promise.all(
    refs.map(async ({ createdAt: _, expiresAt, ...ref }) => {
      const bytes = await artifacts.get(ref.id);
      return { ...ref, bytes: bytes?.length, first: bytes?.[0], expires: expiresAt !== null };
    }),
  );
}

async function agentsOf({ agents, admin }: Store): Promise<unknown> {
  const traces = (await admin.listAllTraces()).items;
  const byTrace = await Promise.all(
    [null, ...traces].map(async (traceId) => [
      traceId,
      await agents.loadHistory(traceId),
      traceId === null ? [] : await agents.listRemoteBindings(traceId),
      traceId === null ? [] : await agents.listPlannerEvents(traceId),
    ]),
  );
  const sessions = (await agents.listSessions()).items.map(({ sessionId }) => sessionId);
  const bySession = await Promise.all(
    sessions.map(async (sessionId) => {
      const traceIds = await agents.listTraces(sessionId);
      const trajectories = await Promise.all(traceIds.map((traceId) => agents.getTrajectory(traceId, sessionId)));
      const [tasks, updates, steering] = await Promise.all([
        agents.listTasks(sessionId),
        agents.listUpdates(sessionId),
        agents.listSteering(sessionId),
      ]);
      return { sessionId, traceIds, trajectories, tasks, updates, steering };
    }),
  );
  const memory = await Promise.all(
    (await agents.listMemory()).items.map(async ({ key }) => [key, await agents.loadMemoryState(key)]),
  );
  const pauses = (await agents.listPauses()).items.map(({ pauseId, state, sessionId, reason }) => ({
    ...{ pauseId, state, sessionId, reason },
  }));
  return { byTrace, bySession, memory, pauses, ofRouter: await agents.listBindings('router') };
}
