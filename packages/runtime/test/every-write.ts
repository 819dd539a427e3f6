/** Every write of a store, prepared in its own tenant. A write without an entry here does not compile. */
import type { CallArgs, Store, StoreDomain, WriteMethod } from '@tidemark/core';
import { type Engine, sleep } from '@tidemark/core/engine';
import { runEvent } from '../../../faults/run-event.ts';

/** The context of a write: a view of one tenant, and the engine underneath. */
export interface Ground {
  store: Store;
  engine: Engine;
  tenantId: string;
}

export type EveryWrite = {
  [D in StoreDomain]: { [M in WriteMethod<D>]: (ground: Ground) => Promise<CallArgs<D, M>> };
};

const AT = '2026-02-03T04:05:06.789Z';
const TYPE = 'mail';
const job = { taskType: TYPE, taskId: 'job' };
const scope = { sessionId: 'session' };

const event = ({ tenantId }: Ground, runId = 'run') => ({ ...runEvent(runId), tenantId });

/** Creates a run of three events whose stored snapshot lacks the last one. */
async function withRun(ground: Ground): Promise<void> {
  const { runs } = ground.store;
  await runs.appendEvents([event(ground), event(ground)]);
  await runs.refreshSnapshot('run');
  await runs.appendEvent(event(ground));
}

async function withClaim({ store }: Ground) {
  await store.jobs.enqueue(job);
  return (await store.jobs.claim(job, { worker: 'w', claimId: 'claim' }))!;
}

async function withPause({ store }: Ground): Promise<'token'> {
  await store.agents.savePlannerState('token', { step: 1 }, { sessionId: 'session' });
  return 'token';
}

async function withPauseClaim(ground: Ground): Promise<['token', string]> {
  const token = await withPause(ground);
  return [token, (await ground.store.agents.claimPause(token))!.claimId];
}

const flowEvent = (ts = 1) => ({ traceId: 'trace', ts, kind: 'k', nodeName: null, nodeId: null, payload: {} });
const plannerEvent = () => ({ eventType: 'step', ts: 1, trajectoryStep: 1 });
const task = () => ({
  ...{ taskId: 'task', sessionId: 'session', status: 'RUNNING' as const, taskType: 'BACKGROUND' as const },
  ...{ priority: 1, contextSnapshot: {}, createdAt: AT, updatedAt: AT },
});
const update = () => ({
  ...{ sessionId: 'session', taskId: 'task', updateId: 'update', updateType: 'PROGRESS' as const },
  ...{ content: {}, createdAt: AT },
});
const steering = () => ({
  ...{ sessionId: 'session', taskId: 'task', eventId: 'steering', eventType: 'USER_MESSAGE' as const },
  createdAt: AT,
});

async function* chunks(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('in ');
  yield Buffer.from('pieces');
}

export const EVERY_WRITE: EveryWrite = {
  runs: {
    // Without ids: the store fills them in, and the error carries them.
    appendEvent: async () => [{ runId: 'run', eventType: 'Progress' }, { expectedSeq: 0 }],
    appendEvents: async (ground) => [[{ runId: 'run', eventType: 'Progress' }, event(ground, 'other')]],
    refreshSnapshot: async (ground) => {
      await withRun(ground);
      return ['run', { full: true }];
    },
    markStale: async (ground) => {
      await withRun(ground);
      return ['run'];
    },
    forkRun: async (ground) => {
      await withRun(ground);
      return ['run', { toRunId: 'fork' }];
    },
    releaseRun: async (ground) => {
      await withRun(ground);
      const run = { tenantId: ground.tenantId, runId: 'run' };
      await ground.engine.runs!.quarantines.put(run, { fromSeq: 2, reason: 'damaged', at: 1 }, {});
      return ['run'];
    },
    deleteExpired: async ({ store }) => {
      await store.runs.handle('run', { expires: { after: '1ms', status: 'any' } }).append('RunStarted');
      await sleep(20);
      return [];
    },
    deleteRun: async (ground) => {
      await withRun(ground);
      return ['run', { expectedSeq: 3 }];
    },
    restoreRun: async (ground) => {
      await withRun(ground);
      const parts = await Array.fromAsync(ground.store.runs.exportRun('run'));
      await ground.store.runs.archiveRun('run', { location: 'there', expectedSeq: 3 });
      return [parts];
    },
    archiveRun: async (ground) => {
      await withRun(ground);
      return ['run', { location: 'there', expectedSeq: 3, expectedRewrites: 0 }];
    },
    redactEvent: async (ground) => {
      await withRun(ground);
      return ['run', 2, { by: 'somebody', reason: 'because' }];
    },
  },

  kv: {
    put: async () => ['key', { a: '1' }, { requestId: 'request' }],
    delete: async ({ store }) => {
      await store.kv.put('key', { a: '1' });
      return ['key', { requestId: 'request' }];
    },
    setField: async () => ['key', 'a', '1', { requestId: 'request' }],
    setFields: async () => ['key', { a: '1', b: null }, { requestId: 'request' }],
    compareAndSwap: async () => ['key', 'a', null, '1', { requestId: 'request' }],
    swap: async () => ['key', { expectedRevision: 0, set: { a: '1' }, requestId: 'request' }],
    batch: async ({ store }) => {
      await store.kv.put('key', { a: '1' });
      return [
        [
          { op: 'setFields', key: 'key', expected: { a: '1' }, fields: { a: '2' } },
          { op: 'put', key: 'other', expectedRevision: 0, fields: { a: '1' } },
        ],
        { requestId: 'request' },
      ];
    },
    deletePrefix: async ({ store }) => {
      await store.kv.put('key.1', { a: '1' });
      await store.kv.put('key.2', { a: '1' });
      return ['key.', { from: 'key.1', limit: 2 }];
    },
    touch: async ({ store }) => {
      await store.kv.put('key', { a: '1' });
      return ['key', '1h', { requestId: 'request' }];
    },
  },

  jobs: {
    enqueue: async () => [{ ...job, maxRetries: 2 }],
    claim: async ({ store }) => {
      for (const taskId of ['a', 'b', 'c']) await store.jobs.enqueue({ taskType: TYPE, taskId });
      return [{ taskType: TYPE }, { worker: 'w' }];
    },
    heartbeat: async (ground) => [await withClaim(ground)],
    progress: async (ground) => [await withClaim(ground), { currentStep: 1 }],
    complete: async (ground) => [await withClaim(ground), { resultRef: 'result' }],
    fail: async (ground) => [await withClaim(ground), { error: 'broken' }],
    park: async (ground) => [await withClaim(ground), { delay: '1h' }],
    wake: async ({ store }) => {
      await store.jobs.enqueue({ ...job, delay: '1h' });
      return [job];
    },
    cancel: async ({ store }) => {
      await store.jobs.enqueue(job);
      return [job];
    },
    requeue: async (ground) => {
      await ground.store.jobs.fail(await withClaim(ground), { error: 'broken', retry: false });
      return [job];
    },
    recover: async ({ store }) => {
      await store.jobs.enqueue({ ...job, delay: 1 });
      for (;;) {
        const [overdue] = await store.jobs.overdue(TYPE, { threshold: 1 });
        if (overdue) return [overdue];
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    },
    markAnnounced: async ({ store }) => {
      await store.jobs.enqueue(job);
      return [job];
    },
  },

  agents: {
    saveEvent: async () => [flowEvent()],
    saveEvents: async () => [[flowEvent(1), flowEvent(2)]],
    saveRemoteBinding: async () => [
      { traceId: 'trace', contextId: null, taskId: 'task', agentUrl: 'https://a.example' },
    ],
    markBindingTerminal: async ({ store }) => {
      const key = { traceId: 'trace', contextId: null, taskId: 'task' };
      await store.agents.saveRemoteBinding({ ...key, agentUrl: 'https://a.example', routerSessionId: 'session' });
      return [key];
    },
    savePlannerState: async () => ['token', { step: 1 }, { sessionId: 'session' }],
    loadPlannerState: async (ground) => [await withPause(ground)],
    claimPause: async (ground) => [await withPause(ground)],
    confirmPause: withPauseClaim,
    releasePause: withPauseClaim,
    saveMemoryState: async () => ['memory', { a: 1 }],
    deleteMemoryState: async ({ store }) => {
      await store.agents.saveMemoryState('memory', { a: 1 });
      return ['memory', { expectedVersion: 1 }];
    },
    saveTask: async () => [task()],
    saveUpdate: async () => [update()],
    saveSteering: async () => [steering()],
    saveTrajectory: async () => ['trace', 'session', { a: 1 }],
    savePlannerEvent: async () => ['trace', plannerEvent()],
    deleteSession: async ({ store }) => {
      await store.agents.saveTask(task());
      return ['session'];
    },
  },

  artifacts: {
    putBytes: async () => [Buffer.from('bytes'), { scope }],
    putText: async () => ['text', { scope }],
    putStream: async () => [chunks(), { scope }],
    delete: async ({ store }) => [(await store.artifacts.putText('text', { scope })).id],
    sweep: async ({ store }) => {
      await store.artifacts.delete((await store.artifacts.putText('text', { scope })).id);
      return [{ grace: 1 }];
    },
  },

  admin: {
    putPause: async () => [
      {
        ...{ pauseId: 'ab'.repeat(32), state: 'waiting', createdAt: AT, expiresAt: '2100-01-01T00:00:00.000Z' },
        payload: { step: 1 },
      },
    ],
    eraseTenant: async (ground) => {
      await withRun(ground);
      await ground.store.kv.put('key', { a: '1' });
      return [ground.tenantId];
    },
    eraseSession: async ({ store }) => {
      await store.agents.saveTask(task());
      await store.artifacts.putText('text', { scope });
      return ['session'];
    },
  },
};

/** Returns the value that a write withholds from its error and that `replay` needs. */
export function withheldOf(method: string): unknown {
  return method === 'putStream' ? chunks() : 'token';
}
