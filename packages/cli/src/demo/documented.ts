/**
 * The data that the documentation refers to, so that the examples in `docs/cli.md` work on a demo store and in tests.
 */
import type { Store } from '@tidemark/core';
import { subscribe } from '@tidemark/runtime';

/** The number of runs, sessions and jobs that the documentation refers to. */
export const DOCUMENTED = { runs: 3, sessions: 1, jobs: 4 };

/**
 * Writes the runs, jobs, sessions and records that the documentation refers to. Returns the artifact id that examples
 * call `$ARTIFACT`.
 */
export async function fillDocumented(store: Store): Promise<string> {
  await fillRuns(store);
  await fillDeadLetter(store);
  await fillJobs(store);
  await fillSession(store);
  await store.kv.put('config.limits', { max: 10, burst: 5 });
  const { id } = await store.artifacts.putText('All is well.\n', {
    filename: 'report.txt',
    mimeType: 'text/plain',
    scope: { sessionId: 'session-1' },
    ttl: null,
  });
  return id;
}

async function fillRuns({ runs }: Store): Promise<void> {
  const running = runs.handle('order-42', { planId: 'checkout', labels: { shop: 'berlin' } });
  await running.append('RunStarted', { by: 'ada' });
  await running.append('CartPriced', { cents: 1299 });
  await running.append('StepStarted', {}, { stepId: 'charge' });
  const failed = runs.handle('order-7', { planId: 'checkout' });
  await failed.append('RunStarted');
  await failed.append('StepStarted', {}, { stepId: 'charge' });
  await failed.append(
    'StepFailed',
    { errorCode: 'CARD_DECLINED', errorMessage: 'no funds', retryable: false },
    { stepId: 'charge' },
  );
  await failed.append('RunFailed', { errorCode: 'CARD_DECLINED' });
  await runs.handle('etl-1', { tenantId: 'acme', planId: 'nightly' }).append('RunStarted');
}

async function fillJobs({ jobs }: Store): Promise<void> {
  const mail = (taskId: string) => ({ taskType: 'email-send', taskId });
  for (const id of ['mail-2', 'mail-3']) {
    await jobs.enqueue(mail(id));
    await jobs.claim(mail(id), { worker: 'w1', claimId: id.replace('mail', 'claim'), lease: '1h' });
  }
  await jobs.fail({ ...mail('mail-3'), claimId: 'claim-3' }, { error: 'no such mailbox', retry: false });
  await jobs.enqueue(mail('mail-1'));
  await jobs.enqueue({ ...mail('mail-4'), delay: '1h' });
}

async function fillSession({ agents }: Store): Promise<void> {
  const [sessionId, taskId, traceId] = ['session-1', 'task-1', 'trace-7'];
  const time = '2026-02-16T09:30:00.000Z';
  const task = {
    taskId,
    sessionId,
    status: 'RUNNING',
    taskType: 'FOREGROUND',
    priority: 0,
    contextSnapshot: {},
  } as const;
  await agents.saveTask({ ...task, description: 'refund an order', createdAt: time, updatedAt: time });
  const update = { sessionId, taskId, createdAt: time };
  await agents.saveUpdate({ ...update, updateId: 'update-1', updateType: 'THINKING', content: { text: 'hm' } });
  await agents.saveUpdate({ ...update, updateId: 'update-2', updateType: 'RESULT', content: { text: 'done' } });
  await agents.saveSteering({
    ...update,
    eventId: 'steering-1',
    eventType: 'USER_MESSAGE',
    payload: { text: 'hello' },
  });
  await agents.saveRemoteBinding({
    traceId,
    contextId: sessionId,
    taskId,
    agentUrl: 'https://agents.example/search',
    routerSessionId: sessionId,
    remoteSkill: 'search',
  });
  await agents.saveTrajectory(traceId, sessionId, { query: 'refund order-7', steps: [] });
  await agents.savePlannerEvent(traceId, {
    eventType: 'step_start',
    ts: 1767225600,
    trajectoryStep: 0,
    thought: 'look it up',
  });
  const event = { traceId, nodeName: 'fetch', nodeId: 'n1', payload: { b: 1, a: 2 } };
  await agents.saveEvent({ ...event, ts: 1767225600.5, kind: 'node_start' });
  await agents.saveEvent({ ...event, ts: 1767225601, kind: 'node_success' });
  await agents.saveMemoryState('acme:ada:session-1', { likes: 'tea' });
  await agents.savePlannerState('token-1', { reason: 'approve the refund' }, { sessionId, taskId });
}

/**
 * Creates a dead letter with a real subscription. Called first, so that the subscription finds no other run that could
 * fail.
 */
async function fillDeadLetter(store: Store): Promise<void> {
  const billing = await subscribe(store, {
    name: 'billing',
    filter: { eventTypes: ['StepFailed'] },
    shards: 1,
    retry: { attempts: 1 },
    handler() {
      throw new Error('no such customer');
    },
  });
  while (billing.status().dead === 0) await new Promise((done) => setTimeout(done, 10));
  await billing.stop();
}
