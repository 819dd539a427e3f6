/**
 * The details and the example of each route in the reference. A route without an entry is a type error.
 * `packages/server/test/route-examples.test.ts` sends every example.
 */
import type { RouteName } from './table.ts';

/** An example request. Words in capitals, such as `ARTIFACT_ID`, stand for values from the reader's own store. */
export interface RouteExample {
  /** The path with its query. */
  path: string;
  /** A JSON body. */
  body?: unknown;
  /** A body that is not JSON. */
  text?: string;
  headers?: Readonly<Record<string, string>>;
}

export interface RouteDescription extends RouteExample {
  /** Rules that are not in the summary. */
  details: string;
}

const TIME = '2026-02-16T09:30:00.000Z';
const LINES = { 'content-type': 'application/x-ndjson' };
const LIVE = { accept: 'text/event-stream' };
const JOB = '/v1/jobs/email-send';

export const ROUTE_DESCRIPTIONS: Readonly<Record<RouteName, RouteDescription>> = {
  'GET /healthz': { details: 'Needs no key and does not access the store.', path: '/healthz' },
  'GET /readyz': {
    details: 'Needs no key. Returns 503 while the store does not respond, its disk is full or the server is stopping.',
    path: '/readyz',
  },
  'GET /metrics': {
    details: 'Each process reports its own work. To get totals, sum the counters over all processes.',
    path: '/metrics',
  },
  'GET /openapi.json': { details: 'OpenAPI 3.1. Needs no key.', path: '/openapi.json' },
  'GET /errors': { details: 'HTML. Needs no key.', path: '/errors' },
  'GET /v1/info': {
    details: 'Needs any valid key. `capabilities` lists which features the store supports.',
    path: '/v1/info',
  },
  'GET /v1/ping': { details: 'Returns `{ "ok": false }` if the engine does not respond.', path: '/v1/ping' },
  'GET /v1/loops': { details: '`running` is false if the server runs no loops.', path: '/v1/loops' },
  'GET /v1/doctor': {
    details: 'With `storage=true`, also checks complete files and indexes, which can take a long time.',
    path: '/v1/doctor',
  },
  'GET /v1/runs': {
    details: 'If you pass several filters, all must match. `status` may be repeated; `labels` is a JSON object.',
    path: '/v1/runs?status=RUNNING&planId=checkout&limit=20',
  },
  'GET /v1/run-count': {
    details: 'Takes the filters of the list. Counts at most 10 000 runs.',
    path: '/v1/run-count?status=RUNNING&planId=checkout',
  },
  'POST /v1/expired-runs': {
    details:
      'Deletes at most `limit` runs, default 100. Readers do not receive an expired run even before this request.',
    path: '/v1/expired-runs',
    body: { limit: 100 },
  },
  'GET /v1/runs/{runId}': {
    details: 'Use `/snapshot` for the current state. Returns 404 for an unknown run.',
    path: '/v1/runs/order-42',
  },
  'DELETE /v1/runs/{runId}': {
    details: 'A tombstone remains, so that late retries of appends fail with `RUN_DELETED`.',
    path: '/v1/runs/order-42',
    headers: { 'if-match': '"3"' },
  },
  'GET /v1/runs/{runId}/snapshot': {
    details: 'Computes the state from all stored events. With `atSeq`, returns the state right after that event.',
    path: '/v1/runs/order-42/snapshot?atSeq=2',
  },
  'POST /v1/runs/{runId}/snapshot/refresh': {
    details: 'Returns the snapshot and the number of events that were applied.',
    path: '/v1/runs/order-42/snapshot/refresh',
  },
  'POST /v1/runs/{runId}/snapshot/mark-stale': {
    details: 'Returns false if no snapshot is stored.',
    path: '/v1/runs/order-42/snapshot/mark-stale',
  },
  'GET /v1/runs/{runId}/head': {
    details: 'Pass `lastEventSeq` as `If-Match` or `expectedSeq` with the next append.',
    path: '/v1/runs/order-42/head',
  },
  'GET /v1/runs/{runId}/integrity': {
    details:
      'Reads every event of the run. If an event does not match, `ok` is false and `problem` names the first mismatch.',
    path: '/v1/runs/order-42/integrity',
  },
  'GET /v1/runs/{runId}/checkpoint': {
    details: 'Signatures and roots are verified first. Start the server with `--checkpoints` or `--checkpoint-run`.',
    path: '/v1/runs/order-42/checkpoint',
  },
  'POST /v1/runs/{runId}/fork': {
    details: 'Repeat the request to continue an interrupted fork.',
    path: '/v1/runs/order-42/fork',
    body: { toRunId: 'order-42-b', atSeq: 2 },
  },
  'POST /v1/runs/{runId}/events': {
    details:
      'An event needs an `eventId` or an idempotency key. A duplicate returns 200 and the position of the stored event.',
    path: '/v1/runs/order-42/events',
    body: { eventType: 'UserSaid', payload: { text: 'hi' } },
    headers: { 'idempotency-key': 'message-7' },
  },
  'GET /v1/runs/{runId}/events': {
    details:
      'With `Accept: text/event-stream`, the response stays open and sends new events. Pass `Last-Event-ID` to continue after a disconnect.',
    path: '/v1/runs/order-42/events?afterSeq=1&limit=100',
  },
  'GET /v1/runs/{runId}/events/{runSeq}': {
    details: 'Returns 404 if the run has no event with this sequence.',
    path: '/v1/runs/order-42/events/2',
  },
  'POST /v1/runs/{runId}/events/{runSeq}/redact': {
    details: 'Records who redacted the event, when and why. A second redaction changes nothing.',
    path: '/v1/runs/order-42/events/1/redact',
    body: { by: 'dpo@example.org', reason: 'request 4711' },
  },
  'GET /v1/runs/{runId}/export': {
    details: 'The first line describes the run; the other lines contain its events.',
    path: '/v1/runs/order-42/export',
  },
  'POST /v1/restores': {
    details:
      'Sequences, times and hashes do not change. Pass `overDeleted=true` to restore a run that was deleted in this store.',
    path: '/v1/restores',
    text: 'EXPORTED_LINES',
    headers: LINES,
  },
  'POST /v1/runs/{runId}/archive': {
    details: 'Store the copy and check it first. Fails with `CONFLICT` if the run has changed since then.',
    path: '/v1/runs/order-42/archive',
    body: { location: 's3://archive/order-42', expectedSeq: 3 },
  },
  'GET /v1/runs/{runId}/archive': {
    details: 'Returns 404 if the run is not archived.',
    path: '/v1/runs/order-900/archive',
  },
  'GET /v1/quarantines': {
    details: 'Each entry has the run, the first damaged sequence and the reason.',
    path: '/v1/quarantines?state=quarantined',
  },
  'POST /v1/runs/{runId}/release': {
    details: 'Checks the run first and fails with `CORRUPT_EVENT` if anything in it is still damaged.',
    path: '/v1/runs/DAMAGED_RUN/release',
  },
  'POST /v1/events': {
    details: 'Events of the same run are stored together or not at all. Different runs are stored independently.',
    path: '/v1/events',
    body: [
      { runId: 'order-43', eventType: 'RunStarted', idempotencyKey: 'order-43-started' },
      { runId: 'order-44', eventType: 'RunStarted', idempotencyKey: 'order-44-started' },
    ],
  },
  'GET /v1/events': {
    details:
      'Pass `next` as `cursor` to continue, even days later. `wait=20s` waits for new events. With `notices=true`, items ' +
      'also report that runs were deleted, archived, redacted, restored, quarantined or released; in a stream they are ' +
      'events of the type `run.notice`.',
    path: '/v1/events?eventType=RunCompleted&notices=true&limit=100',
  },
  'GET /v1/kv': {
    details: 'A page contains at most about 4 MiB of values. With `keysOnly=true`, it contains no values.',
    path: '/v1/kv?prefix=config.&limit=50',
  },
  'POST /v1/kv-scan': {
    details: 'Takes the parameters of `GET /v1/kv` in the body.',
    path: '/v1/kv-scan',
    body: { prefix: 'user.', filter: { where: [{ field: 'age', op: 'gte', value: 18 }] } },
  },
  'POST /v1/kv-count': {
    details: 'Reads a limited number of keys or, with a filter, of records.',
    path: '/v1/kv-count',
    body: { prefix: 'user.' },
  },
  'POST /v1/kv-delete': {
    details: 'Repeat with `cursor` set to `next` until `next` is absent. The prefix must not be empty.',
    path: '/v1/kv-delete',
    body: { prefix: 'draft.', limit: 100 },
  },
  'POST /v1/kv-batch': {
    details:
      'The response has `results` in the order of the operations, or `unmet` with the first condition that does not hold. Engines without `kv.atomicBatch` fail with `UNSUPPORTED`.',
    path: '/v1/kv-batch',
    body: {
      operations: [
        { op: 'setFields', key: 'config.limits', fields: { max: 20 }, expected: { max: 10 } },
        { op: 'put', key: 'config.audit', fields: { by: 'ada' }, expectedRevision: 0 },
      ],
    },
  },
  'POST /v1/kv-lookup': {
    details: 'Returns the records in the order of the keys, and null for a missing one.',
    path: '/v1/kv-lookup',
    body: { keys: ['config.limits', 'config.none'] },
  },
  'GET /v1/kv/{key}': {
    details: 'The `ETag` is the revision. Values are `{ "text" }` if they are valid UTF-8, otherwise `{ "base64" }`.',
    path: '/v1/kv/config.limits',
  },
  'PUT /v1/kv/{key}': {
    details: 'Removes all fields that are not in the body. Without `ttl`, the record does not expire.',
    path: '/v1/kv/session.ada',
    body: { fields: { cart: 'apples', items: 3 }, ttl: '30m' },
  },
  'PATCH /v1/kv/{key}': {
    details: 'Keeps other fields and the time to live. Returns 412 if the revision differs.',
    path: '/v1/kv/config.limits',
    body: { fields: { burst: 9, old: null } },
    headers: { 'if-match': '"RECORD_REVISION"' },
  },
  'DELETE /v1/kv/{key}': { details: 'Returns whether the record existed.', path: '/v1/kv/config.limits' },
  'GET /v1/kv/{key}/fields/{field}': {
    details: 'Returns 404 if the record or the field does not exist.',
    path: '/v1/kv/config.limits/fields/max',
  },
  'PUT /v1/kv/{key}/fields/{field}': {
    details: 'Creates the record if there is none, unless `ifExists` is set.',
    path: '/v1/kv/config.limits/fields/max',
    body: { value: 20 },
  },
  'POST /v1/kv/{key}/fields/{field}/compare-and-swap': {
    details: 'If the field has other bytes, nothing is written and `swapped` is false.',
    path: '/v1/kv/leader/fields/node/compare-and-swap',
    body: { expected: null, next: 'node-1' },
  },
  'POST /v1/kv/{key}/swap': {
    details: 'Returns the current record in either case. `expectedRevision: 0` requires that no record exists.',
    path: '/v1/kv/leader/swap',
    body: { expectedRevision: 0, set: { node: 'node-1' }, ttl: '30s' },
  },
  'POST /v1/kv/{key}/touch': {
    details: 'Returns whether the record exists.',
    path: '/v1/kv/config.limits/touch',
    body: { ttl: '1h' },
  },
  'POST /v1/jobs': {
    details: 'Returns 201 for a new job and 200 for one that already exists.',
    path: '/v1/jobs',
    body: { taskType: 'email-send', taskId: 'welcome-ada', priority: 10, paramsRef: 's3://mails/ada' },
  },
  'GET /v1/jobs': {
    details: '`state` is a job state or `delayed`.',
    path: '/v1/jobs?state=failed&taskType=email-send',
  },
  'GET /v1/job-types': { details: 'Use it to list queues.', path: '/v1/job-types?state=pending' },
  'GET /v1/jobs-overdue': {
    details: 'A job is overdue if its lease has expired or it has waited longer than `threshold`.',
    path: '/v1/jobs-overdue?taskType=email-send&threshold=5m',
  },
  'POST /v1/job-claims': {
    details: 'Send a new `claimId` with each claim. A retry with the same id returns the same job.',
    path: '/v1/job-claims',
    body: { taskType: 'email-send', worker: 'mailer-1', lease: '1m', claimId: 'claim-81' },
  },
  'GET /v1/jobs/{taskType}/{taskId}': { details: 'Returns 404 for an unknown job.', path: `${JOB}/mail-1` },
  'POST /v1/jobs/{taskType}/{taskId}/heartbeat': {
    details: 'Fails with `CLAIM_LOST` if another worker has the job.',
    path: `${JOB}/mail-2/heartbeat`,
    body: { claimId: 'claim-2', lease: '1m' },
  },
  'POST /v1/jobs/{taskType}/{taskId}/progress': {
    details: 'Also renews the lease.',
    path: `${JOB}/mail-2/progress`,
    body: { claimId: 'claim-2', currentStep: 1, stepCount: 3 },
  },
  'POST /v1/jobs/{taskType}/{taskId}/complete': {
    details: 'With `ttl`, the job is removed after that time.',
    path: `${JOB}/mail-2/complete`,
    body: { claimId: 'claim-2', resultRef: 'mails/sent/2', ttl: '7d' },
  },
  'POST /v1/jobs/{taskType}/{taskId}/fail': {
    details: 'With `retry: false`, the job fails for good; `delay` postpones the next attempt.',
    path: `${JOB}/mail-2/fail`,
    body: { claimId: 'claim-2', error: 'mailbox full', delay: '10m' },
  },
  'POST /v1/jobs/{taskType}/{taskId}/park': {
    details: 'Send either `delay` or `until`, a time in milliseconds.',
    path: `${JOB}/mail-2/park`,
    body: { claimId: 'claim-2', delay: '10m' },
  },
  'POST /v1/jobs/{taskType}/{taskId}/wake': {
    details: 'If the job has been parked again, a retry with the same `requestId` does not wake it.',
    path: `${JOB}/mail-4/wake`,
    body: { requestId: 'wake-1' },
  },
  'POST /v1/jobs/{taskType}/{taskId}/cancel': {
    details: 'The next call of the worker that has claimed the job fails with `CLAIM_LOST`.',
    path: `${JOB}/mail-1/cancel`,
    body: {},
  },
  'POST /v1/jobs/{taskType}/{taskId}/requeue': {
    details: 'Resets the number of retries to 0.',
    path: `${JOB}/mail-3/requeue`,
    body: { delay: '1m' },
  },
  'POST /v1/job-recoveries': {
    details: 'Send an item of `GET /v1/jobs-overdue` as it was returned.',
    path: '/v1/job-recoveries',
    body: { overdue: 'OVERDUE_JOB', requestId: 'sweep-1' },
  },
  'POST /v1/jobs/{taskType}/{taskId}/announced': {
    details: 'For custom sweepers. Returns no body.',
    path: `${JOB}/mail-3/announced`,
  },
  'POST /v1/flow-events': {
    details: 'Takes a single event or an array of up to 1 000.',
    path: '/v1/flow-events',
    body: {
      traceId: 'trace-7',
      ts: 1767225600.5,
      kind: 'node_start',
      nodeName: 'find',
      nodeId: 'n1',
      payload: { a: 1 },
    },
  },
  'GET /v1/flow-events': { details: 'Ordered by `ts`.', path: '/v1/flow-events?traceId=trace-7' },
  'POST /v1/bindings': {
    details: 'There is one binding per trace, context and task.',
    path: '/v1/bindings',
    body: { traceId: 'trace-7', taskId: 'task-1', agentUrl: 'https://worker.example' },
  },
  'POST /v1/bindings/find': {
    details:
      'An absent `tenantId` or `userId` matches only a binding without one. `binding` is `null` if none matches.',
    path: '/v1/bindings/find',
    body: { routerSessionId: 'session-1', agentUrl: 'https://agents.example/search', remoteSkill: 'search' },
  },
  'POST /v1/bindings/terminal': {
    details: 'Marking a binding again changes nothing. `found` is false for an unknown binding.',
    path: '/v1/bindings/terminal',
    body: { traceId: 'trace-7', contextId: 'session-1', taskId: 'task-1' },
  },
  'GET /v1/sessions/{sessionId}/bindings': {
    details: 'Saving a binding and marking it as terminal update it. Empty for an unknown session.',
    path: '/v1/sessions/session-1/bindings',
  },
  'GET /v1/traces/{traceId}/bindings': { details: 'Empty for an unknown trace.', path: '/v1/traces/trace-7/bindings' },
  'GET /v1/pauses': {
    details: 'Returns the id of each pause, never its token.',
    path: '/v1/pauses?sessionId=session-1',
  },
  'POST /v1/pauses': {
    details: 'Only the SHA-256 hash of the token is stored. The token is valid for `ttl`, by default an hour.',
    path: '/v1/pauses',
    body: { token: 'SECRET_TOKEN', payload: { step: 3 }, ttl: '1d', sessionId: 'session-1' },
  },
  'POST /v1/pauses/load': {
    details: 'A retry with the same `requestId` returns the content again.',
    path: '/v1/pauses/load',
    body: { token: 'WAITING_TOKEN', requestId: 'load-1' },
  },
  'POST /v1/pauses/claim': {
    details: 'Confirm the claim after resuming, or release it. It expires with its lease.',
    path: '/v1/pauses/claim',
    body: { token: 'WAITING_TOKEN', lease: '2m' },
  },
  'POST /v1/pauses/confirm': {
    details: 'Fails with `CLAIM_LOST` if the lease has expired and another caller has claimed the pause.',
    path: '/v1/pauses/confirm',
    body: { token: 'CLAIMED_TOKEN', claimId: 'CLAIM_ID' },
  },
  'POST /v1/pauses/release': {
    details: 'The pause can then be claimed again.',
    path: '/v1/pauses/release',
    body: { token: 'CLAIMED_TOKEN', claimId: 'CLAIM_ID' },
  },
  'POST /v1/pauses/peek': {
    details: 'Returns the state and times of the pause, but not its content.',
    path: '/v1/pauses/peek',
    body: { token: 'WAITING_TOKEN' },
  },
  'GET /v1/memory': { details: 'Does not return the states.', path: '/v1/memory?prefix=acme:' },
  'GET /v1/memory/{key}': { details: 'The `ETag` is the version.', path: '/v1/memory/acme:ada:session-1' },
  'PUT /v1/memory/{key}': {
    details: 'Without `If-Match`, the last write wins.',
    path: '/v1/memory/acme:ada:session-1',
    body: { state: { likes: 'apples' } },
    headers: { 'if-match': '"1"' },
  },
  'DELETE /v1/memory/{key}': {
    details: 'Returns whether the state existed.',
    path: '/v1/memory/acme:ada:session-1',
    headers: { 'if-match': '"1"' },
  },
  'GET /v1/sessions': {
    details: 'Includes the times of the first and last item of each session.',
    path: '/v1/sessions?limit=20',
  },
  'DELETE /v1/sessions/{sessionId}': {
    details: 'Keeps pauses, memory and artifacts: `DELETE /v1/admin/sessions/{sessionId}` removes those too.',
    path: '/v1/sessions/session-1',
  },
  'POST /v1/sessions/{sessionId}/tasks': {
    details: 'The save with the latest `updatedAt` wins.',
    path: '/v1/sessions/session-1/tasks',
    body: {
      taskId: 'task-2',
      sessionId: 'session-1',
      status: 'RUNNING',
      taskType: 'FOREGROUND',
      priority: 0,
      contextSnapshot: {},
      createdAt: TIME,
      updatedAt: TIME,
    },
  },
  'GET /v1/sessions/{sessionId}/tasks': {
    details: 'Empty for an unknown session.',
    path: '/v1/sessions/session-1/tasks',
  },
  'POST /v1/sessions/{sessionId}/updates': {
    details: 'Retry with the same `updateId`.',
    path: '/v1/sessions/session-1/updates',
    body: {
      sessionId: 'session-1',
      taskId: 'task-1',
      updateId: 'update-3',
      updateType: 'PROGRESS',
      content: { text: 'searching' },
      createdAt: TIME,
    },
  },
  'GET /v1/sessions/{sessionId}/updates': {
    details: 'With `Accept: text/event-stream`, the response stays open and sends new updates.',
    path: '/v1/sessions/session-1/updates?sinceId=update-1',
  },
  'POST /v1/sessions/{sessionId}/steering': {
    details: 'Limits the depth and size of the payload before it is stored.',
    path: '/v1/sessions/session-1/steering',
    body: {
      sessionId: 'session-1',
      taskId: 'task-1',
      eventId: 'steering-2',
      eventType: 'REDIRECT',
      payload: { instruction: 'refund only the tea' },
      createdAt: TIME,
    },
  },
  'GET /v1/sessions/{sessionId}/steering': {
    details: 'Pass the last `eventId` as `sinceId` to continue.',
    path: '/v1/sessions/session-1/steering?taskId=task-1',
  },
  'GET /v1/sessions/{sessionId}/traces': {
    details: 'Returns at most `limit` traces, by default 50.',
    path: '/v1/sessions/session-1/traces',
  },
  'GET /v1/sessions/{sessionId}/trajectories/{traceId}': {
    details: 'Returns 404 if the trace belongs to another session.',
    path: '/v1/sessions/session-1/trajectories/trace-7',
  },
  'PUT /v1/sessions/{sessionId}/trajectories/{traceId}': {
    details: 'Fails with `SESSION_MISMATCH` if the trace belongs to another session.',
    path: '/v1/sessions/session-1/trajectories/trace-8',
    body: { trajectory: { query: 'refund order-42', steps: [] } },
  },
  'POST /v1/traces/{traceId}/planner-events': {
    details: 'Without an `eventId`, an event is a duplicate if all its fields are equal.',
    path: '/v1/traces/trace-7/planner-events',
    body: { eventType: 'step_start', ts: 1767225600, trajectoryStep: 0 },
  },
  'GET /v1/traces/{traceId}/planner-events': {
    details: 'Empty for an unknown trace.',
    path: '/v1/traces/trace-7/planner-events',
  },
  'POST /v1/artifacts': {
    details: 'The artifact gets the `Content-Type` of the request. `scope` is a JSON object.',
    path: '/v1/artifacts?filename=report.txt&scope=%7B%22sessionId%22%3A%22session-1%22%7D',
    text: 'All is well.',
    headers: { 'content-type': 'text/plain' },
  },
  'GET /v1/artifacts': {
    details: 'Lists the references that match every part of the scope.',
    path: '/v1/artifacts?scope=%7B%22sessionId%22%3A%22session-1%22%7D',
  },
  'GET /v1/artifacts/{id}': {
    details:
      'Supports `Range` (returns 206). The `ETag` is the hash of the bytes. With `Prefer: redirect` a server that allows it returns 307 with a URL of the bucket that has the bytes.',
    path: '/v1/artifacts/ARTIFACT_ID',
    headers: { range: 'bytes=0-2' },
  },
  'DELETE /v1/artifacts/{id}': {
    details: 'If no other reference exists, a later sweep removes the bytes.',
    path: '/v1/artifacts/ARTIFACT_ID',
  },
  'GET /v1/artifacts/{id}/ref': {
    details: 'Returns size, type, name, hash, scope and expiry.',
    path: '/v1/artifacts/ARTIFACT_ID/ref',
  },
  'POST /v1/artifact-sweep': {
    details: 'Every store does this automatically every 15 minutes.',
    path: '/v1/artifact-sweep',
    body: { grace: '1h' },
  },
  'GET /v1/admin/tenants': { details: 'In byte order.', path: '/v1/admin/tenants' },
  'GET /v1/admin/traces': { details: 'In byte order.', path: '/v1/admin/traces?tenantId=default' },
  'GET /v1/admin/removed-runs': {
    details: 'Lists the runs that still have a tombstone.',
    path: '/v1/admin/removed-runs?tenantId=default',
  },
  'GET /v1/admin/artifacts': {
    details: 'Omits hash and metadata, because a codec may have encoded them.',
    path: '/v1/admin/artifacts',
  },
  'GET /v1/admin/artifact-totals': {
    details: 'Counts references, distinct contents and their bytes.',
    path: '/v1/admin/artifact-totals',
  },
  'GET /v1/admin/check': {
    details: 'To check the whole store, repeat with `next` as `cursor` until `next` is absent.',
    path: '/v1/admin/check?limit=100',
  },
  'GET /v1/admin/pauses/{pauseId}': {
    details: 'Use it to copy a pause to another store.',
    path: '/v1/admin/pauses/PAUSE_ID',
  },
  'POST /v1/admin/pauses': {
    details: 'Send a pause exactly as `GET /v1/admin/pauses/{pauseId}` of the other store returned it.',
    path: '/v1/admin/pauses',
    body: 'READ_PAUSE',
  },
  'DELETE /v1/admin/tenants/{tenantId}': {
    details: 'Stop the writers of the tenant first. A retry continues.',
    path: '/v1/admin/tenants/acme',
  },
  'DELETE /v1/admin/sessions/{sessionId}': {
    details: 'Also removes its pauses, memory and artifacts.',
    path: '/v1/admin/sessions/session-1',
  },
  'GET /v1/stream': {
    details: 'Topics are separated by commas. Each message names its topic.',
    path: '/v1/stream?topics=runs/order-42,kv/config.',
    headers: LIVE,
  },
};
