/**
 * Every call of a store with all of its arguments and optional members, for the differential test. A missing method or
 * optional member is a type error.
 */
import type { AdminStore, AgentStore, ArtifactStore, JobStore, KvStore, RunStore } from '@tidemark/core';
import { encodeCursor } from '@tidemark/core/engine';
import { AT, event, type Filled, flowEvent, plannerEvent, steering, TENANT, task, update } from './filled-store.ts';

/** Types that are passed on without varying their members. */
type Opaque = Uint8Array | AbortSignal | AsyncIterable<unknown> | readonly unknown[] | ((...args: never[]) => unknown);

/** A type with every optional member present, except those that a store over HTTP rejects. */
type Whole<T> = T extends Opaque
  ? T
  : T extends object
    ? { [K in keyof T as K extends 'transaction' | 'projections' ? never : K]-?: Whole<Exclude<T[K], undefined>> }
    : T;

type WholeCall<Method> = Method extends (...args: infer Args) => unknown
  ? { [At in keyof Required<Args>]: Whole<Exclude<Args[At], undefined>> }
  : never;

/** Arguments of every method, based on the data of `fill`. */
type Calls<Domain> = { [Method in keyof Domain]: (filled: Filled) => WholeCall<Domain[Method]> };

/** Of the other form of `feed` and `feedPage`, whose items may be notices. */
const NOTICES = { notices: true };

/** Options of every call; their members are varied too. */
const bounds = () => ({ signal: new AbortController().signal, timeoutMs: 15_000 });

const wholeEvent = (runId: string, key: string) =>
  event(runId, key, {
    stepId: 'step',
    labels: { x: '1' },
    parentRunId: 'run-1',
    traceparent: '00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01',
  }) as never;

const page = (cursor: string) => ({ ...bounds(), cursor, limit: 2 });

const putOptions = () => ({
  ...bounds(),
  mimeType: 'text/plain',
  filename: 'file.txt',
  scope: { tenantId: TENANT, userId: 'user', sessionId: 'session', traceId: 'trace' },
  namespace: 'namespace',
  source: { a: 1 },
  ttl: '1h',
});
const access = () => ({
  ...bounds(),
  scope: { tenantId: TENANT, userId: 'user', sessionId: 'session', traceId: 'trace' },
});

async function* chunks(): AsyncGenerator<Uint8Array> {
  yield Buffer.from('in ');
  yield Buffer.from('pieces');
}

const listed = () => ({ ...bounds(), taskId: 'task', sinceId: 'update-1', limit: 2 });
const claim = () => ({ taskType: 'mail', taskId: 'claimed', claimId: 'claim-1', lease: '30s' });

const runs: Calls<RunStore> = {
  appendEvent: () => [
    wholeEvent('run-9', 'k'),
    { ...bounds(), expectedSeq: 0, life: 'new', rejectInvalidTransitions: false },
  ],
  appendEvents: () => [
    [wholeEvent('run-9', 'k')],
    { ...bounds(), expectedSeq: 0, life: 'new', rejectInvalidTransitions: false },
  ],
  fetchEvents: () => [
    'run-1',
    { ...bounds(), tenantId: TENANT, life: 1, afterSeq: 1, beforeSeq: 9, order: 'newest', limit: 2 },
  ],
  readEvents: () => [
    'run-1',
    { ...bounds(), tenantId: TENANT, life: 1, afterSeq: 1, beforeSeq: 9, order: 'newest', limit: 2 },
  ],
  tail: () => ['run-1', { ...bounds(), tenantId: TENANT, life: 1, afterSeq: 1, limit: 2 }],
  getSnapshot: () => ['run-1', { ...bounds(), tenantId: TENANT, life: 1 }],
  projectSnapshot: () => ['run-1', { ...bounds(), tenantId: TENANT, life: 1, atSeq: 2 }],
  refreshSnapshot: () => ['run-1', { ...bounds(), tenantId: TENANT, full: true }],
  markStale: () => ['run-1', { ...bounds(), tenantId: TENANT }],
  forkRun: () => ['run-1', { ...bounds(), tenantId: TENANT, toRunId: 'fork', atSeq: 2 }],
  listRuns: ({ cursors }) => [
    {
      ...page(cursors.runs),
      orderBy: 'createdAt',
      tenantId: TENANT,
      projectId: 'project',
      environmentId: 'environment',
      status: ['PENDING', 'RUNNING'],
      planId: 'plan',
      parentRunId: 'run-1',
      labels: { x: '1' },
      owner: 'any',
      createdAfter: '2020-01-01T00:00:00.000Z',
      createdBefore: '2030-01-01T00:00:00.000Z',
      updatedAfter: '2020-01-01T00:00:00.000Z',
      updatedBefore: '2030-01-01T00:00:00.000Z',
      order: 'newest',
    },
  ],
  countRuns: () => [
    {
      ...bounds(),
      tenantId: TENANT,
      projectId: 'project',
      environmentId: 'environment',
      status: ['PENDING', 'RUNNING'],
      planId: 'plan',
      parentRunId: 'run-1',
      labels: { x: '1' },
      owner: 'any',
      createdAfter: '2020-01-01T00:00:00.000Z',
      createdBefore: '2030-01-01T00:00:00.000Z',
      updatedAfter: '2020-01-01T00:00:00.000Z',
      updatedBefore: '2030-01-01T00:00:00.000Z',
    },
  ],
  deleteExpired: ({ cursors }) => [{ ...page(cursors.expired), tenantId: TENANT }],
  headSeq: () => ['run-1', { ...bounds(), tenantId: TENANT, life: 1 }],
  position: () => ['run-1', { ...bounds(), tenantId: TENANT, life: 1 }],
  verify: () => ['run-1', { ...bounds(), tenantId: TENANT }],
  listQuarantined: () => [{ ...page(encodeCursor([TENANT, 'run-1'])), tenantId: TENANT, state: 'any' }],
  releaseRun: () => ['run-1', { ...bounds(), tenantId: TENANT }],
  deleteRun: () => ['run-2', { ...bounds(), tenantId: TENANT, life: 1, expectedSeq: 1 }],
  exportRun: () => ['run-1', { ...bounds(), tenantId: TENANT }],
  restoreRun: ({ parts }) => [parts, { ...bounds(), overDeleted: true, keepEncoded: true }],
  archiveRun: () => [
    'run-2',
    { ...bounds(), tenantId: TENANT, location: 'elsewhere', expectedSeq: 1, expectedRewrites: 0 },
  ],
  archiveLocation: () => ['archived', { ...bounds(), tenantId: TENANT }],
  redactEvent: () => ['run-1', 2, { ...bounds(), tenantId: TENANT, by: 'somebody', reason: 'because' }],
  feed: ({ feedCursor }) => [
    {
      ...bounds(),
      cursor: feedCursor,
      filter: { tenantId: TENANT, eventTypes: ['Progress'] },
      unreadable: 'skip',
      ...NOTICES,
    },
  ],
  feedPage: ({ feedCursor }) => [
    {
      ...bounds(),
      cursor: feedCursor,
      filter: { tenantId: TENANT, eventTypes: ['Progress'] },
      unreadable: 'skip',
      ...NOTICES,
      limit: 2,
      wait: 1,
    },
  ],
  handle: () =>
    [
      'run-1',
      {
        tenantId: TENANT,
        projectId: 'project',
        environmentId: 'environment',
        planId: 'plan',
        planVersion: '1',
        labels: { x: '1' },
      },
    ] as never,
};

const kv: Calls<KvStore> = {
  get: () => ['key-1', bounds()],
  getMany: () => [['key-1', 'none'], bounds()],
  put: () => ['key-9', { a: '1', b: 2 }, { ...bounds(), requestId: 'request', ttl: '1h', sealed: false }],
  delete: () => ['key-1', { ...bounds(), requestId: 'request' }],
  getField: () => ['key-1', 'a', bounds()],
  setField: () => ['key-1', 'a', '2', { ...bounds(), requestId: 'request', ifExists: true, sealed: false }],
  setFields: () =>
    ['key-1', { a: '2', b: null }, { ...bounds(), requestId: 'request', ifExists: true, sealed: [] }] as never,
  compareAndSwap: () => ['key-1', 'a', '1', '2', { ...bounds(), requestId: 'request', sealed: false }],
  swap: ({ revision }) =>
    [
      'key-1',
      {
        expected: { a: '1', none: null },
        expectedRevision: revision,
        set: { a: '2', b: null },
        ttl: '1h',
        sealed: false,
        requestId: 'request',
      },
      bounds(),
    ] as never,
  batch: ({ revision }) =>
    [
      [
        { op: 'put', key: 'key-9', fields: { a: '1', b: 2 }, ttl: '1h', sealed: [], expectedRevision: 0 },
        { op: 'setFields', key: 'key-1', fields: { a: '2', b: null }, ttl: null, ifExists: true, sealed: false },
        { op: 'delete', key: 'key-2', expected: { none: null }, expectedRevision: revision },
      ],
      { ...bounds(), requestId: 'request' },
    ] as never,
  touch: () => ['key-1', '1h', { ...bounds(), requestId: 'request' }],
  scan: () =>
    [
      'key-',
      { where: [{ field: 'a', op: 'eq', value: '1' }], maxResults: 2 },
      { ...bounds(), from: 'key-1', to: 'key-9', reverse: true, keysOnly: true },
    ] as never,
  scanPage: ({ cursors }) =>
    [
      'key-',
      {
        ...page(cursors.kv),
        filter: { where: [{ field: 'a', op: 'in', value: ['1', '2'] }], maxResults: 2 },
        from: 'key-1',
        to: 'key-9',
        reverse: true,
        keysOnly: true,
      },
    ] as never,
  count: () =>
    [
      'key-',
      {
        ...bounds(),
        from: 'key-1',
        to: 'key-9',
        filter: { where: [{ field: 'a', op: 'in', value: ['1', '2'] }], maxResults: 2 },
      },
    ] as never,
  deletePrefix: ({ cursors }) => ['key-', { ...page(cursors.deletePrefix), from: 'key-1', to: 'key-9' }],
  watch: () => ['key-', bounds()],
};

const jobs: Calls<JobStore> = {
  enqueue: () => [
    {
      taskType: 'mail',
      taskId: 'new',
      delay: 1,
      priority: 1,
      stepCount: 2,
      maxRetries: 1,
      paramsRef: 'params',
      fields: { a: '1' },
    },
    bounds(),
  ],
  get: () => [{ taskType: 'mail', taskId: 'claimed' }, bounds()],
  claim: () => [
    { taskType: 'mail', taskId: 'pending' },
    { ...bounds(), worker: 'worker', lease: '30s', claimId: 'claim-9', takeExpired: true },
  ],
  heartbeat: () => [claim(), { ...bounds(), lease: '30s' }],
  progress: () => [claim(), { currentStep: 1, stepCount: 2 }, { ...bounds(), lease: '30s' }],
  complete: () => [claim(), { resultRef: 'result', ttl: '1h' }, bounds()],
  fail: () => [claim(), { error: 'broken', retry: true, delay: 1, ttl: '1h' }, bounds()],
  // Only one of the two may be set, as in the variants that lack the other.
  park: () => [claim(), { until: 4_000_000_000_000, delay: '1h' }, bounds()],
  wake: () => [
    { taskType: 'mail', taskId: 'delayed' },
    { ...bounds(), requestId: 'request' },
  ],
  cancel: () => [
    { taskType: 'mail', taskId: 'pending' },
    { ...bounds(), requestId: 'request', ttl: '1h' },
  ],
  requeue: () => [
    { taskType: 'mail', taskId: 'failed' },
    { ...bounds(), requestId: 'request', delay: 1 },
  ],
  list: ({ cursors }) => ['pending', { ...page(cursors.jobs), taskType: 'mail' }],
  types: () => ['pending', bounds()],
  overdue: () => ['mail', { ...bounds(), threshold: 1, limit: 5 }],
  recover: ({ overdue }) => [overdue as never, { ...bounds(), requestId: 'request' }],
  markAnnounced: () => [{ taskType: 'mail', taskId: 'failed' }, bounds()],
};

const agents: Calls<AgentStore> = {
  saveEvent: () => [flowEvent(), bounds()],
  saveEvents: () => [[flowEvent()], bounds()],
  loadHistory: () => ['trace', bounds()],
  readHistory: () => ['trace', bounds()],
  saveRemoteBinding: () => [
    {
      traceId: 'trace',
      contextId: 'context',
      taskId: 'task-9',
      agentUrl: 'https://agent.example',
      routerSessionId: 'session',
      remoteSkill: 'translate',
      tenantId: 'remote',
      userId: 'user',
      lastRemoteTaskId: 'task-8',
      isTerminal: false,
      metadata: { a: 1 },
    },
    bounds(),
  ],
  listRemoteBindings: () => ['trace', bounds()],
  findBinding: () => [
    {
      routerSessionId: 'session',
      agentUrl: 'https://b.example',
      remoteSkill: 'translate',
      tenantId: 'remote',
      userId: 'user',
    },
    bounds(),
  ],
  listBindings: () => ['session', bounds()],
  markBindingTerminal: () => [{ traceId: 'trace', contextId: 'context', taskId: 'task' }, bounds()],
  savePlannerState: () => [
    'token-9',
    { reason: 'wait' },
    { ...bounds(), ttl: '1h', sessionId: 'session', taskId: 'task' },
  ],
  loadPlannerState: () => ['token-1', { ...bounds(), requestId: 'request' }],
  claimPause: () => ['token-1', { ...bounds(), lease: '30s', requestId: 'request' }],
  confirmPause: ({ pauseClaimId }) => ['token-2', pauseClaimId, bounds()],
  releasePause: ({ pauseClaimId }) => ['token-2', pauseClaimId, bounds()],
  peekPause: () => ['token-1', bounds()],
  listPauses: ({ cursors }) => [{ ...page(cursors.pauses), sessionId: 'session' }],
  saveMemoryState: () => ['memory-1', { a: 2 }, { ...bounds(), expectedVersion: 1, requestId: 'request' }],
  loadMemoryState: () => ['memory-1', bounds()],
  getMemoryRecord: () => ['memory-1', bounds()],
  listMemory: ({ cursors }) => [{ ...page(cursors.memory), prefix: 'memory-' }],
  deleteMemoryState: () => ['memory-1', { ...bounds(), expectedVersion: 1, requestId: 'request' }],
  saveTask: () => [task(), bounds()],
  listTasks: () => ['session', bounds()],
  readTasks: () => ['session', bounds()],
  saveUpdate: () => [update(), bounds()],
  listUpdates: () => ['session', listed()],
  listUpdatesPage: () => ['session', listed()],
  tailUpdates: () => ['session', { ...bounds(), taskId: 'task', sinceId: 'update-1' }],
  saveSteering: () => [steering(), bounds()],
  listSteering: () => ['session', { ...listed(), sinceId: 'steering-1' }],
  listSteeringPage: () => ['session', { ...listed(), sinceId: 'steering-1' }],
  saveTrajectory: () => ['trace', 'session', { query: 'again' }, bounds()],
  getTrajectory: () => ['trace', 'session', bounds()],
  listTraces: () => ['session', 2, bounds()],
  savePlannerEvent: () => ['trace', plannerEvent(), bounds()],
  listPlannerEvents: () => ['trace', bounds()],
  readPlannerEvents: () => ['trace', bounds()],
  listSessions: ({ cursors }) => [page(cursors.sessions)],
  deleteSession: () => ['session', bounds()],
};

const artifacts: Calls<ArtifactStore> = {
  putBytes: () => [Buffer.from('bytes'), putOptions()],
  putText: () => ['text', putOptions()],
  putStream: () => [chunks(), putOptions()],
  get: ({ artifactId }) => [artifactId, access()],
  getStream: ({ artifactId }) => [artifactId, { ...access(), start: 1, end: 3 }],
  getRef: ({ artifactId }) => [artifactId, access()],
  exists: ({ artifactId }) => [artifactId, access()],
  delete: ({ artifactId }) => [artifactId, access()],
  list: ({ cursors }) => [access().scope, page(cursors.artifacts)],
  sweep: () => [{ ...bounds(), grace: 1 }],
};

const admin: Calls<AdminStore> = {
  listTenants: ({ cursors }) => [page(cursors.tenants)],
  listAllTraces: ({ cursors }) => [{ ...page(cursors.traces), tenantId: TENANT }],
  listRemovedRuns: ({ cursors }) => [{ ...page(cursors.removed), tenantId: TENANT }],
  listArtifacts: ({ cursors }) => [{ ...page(cursors.storedArtifacts), tenantId: TENANT }],
  artifactTotals: ({ cursors }) => [{ ...page(cursors.totals), tenantId: TENANT }],
  check: ({ cursors }) => [page(cursors.check)],
  readPause: ({ pauseId }) => [pauseId, { ...bounds(), tenantId: TENANT }],
  putPause: () => [
    {
      pauseId: 'ab'.repeat(32),
      state: 'waiting',
      createdAt: AT,
      expiresAt: '2100-01-01T00:00:00.000Z',
      leaseUntil: AT,
      sessionId: 'session',
      taskId: 'task',
      reason: 'wait',
      payload: { reason: 'wait' },
    },
    { ...bounds(), tenantId: TENANT },
  ],
  eraseTenant: () => ['acme', { ...bounds(), onProgress: () => {} }],
  eraseSession: () => ['session', { ...bounds(), onProgress: () => {}, tenantId: TENANT }],
};

export const EVERY_CALL = { runs, kv, jobs, agents, artifacts, admin };
