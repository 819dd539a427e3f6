/** Schemas of runs. What an event must be the store itself checks; here is its shape. */
import Type from 'typebox';
import { Count, Id, Json, Time } from './common.ts';

const EVENT = {
  eventId: Type.String({ description: 'UUID version 4' }),
  eventType: Id,
  emittedAt: Time,
  runId: Id,
  tenantId: Id,
  projectId: Id,
  environmentId: Id,
  planId: Id,
  planVersion: Id,
  engineAttemptId: Count,
  logicalAttemptId: Count,
  stepId: Type.Optional(Id),
  idempotencyKey: Type.Optional(Id),
  labels: Type.Optional(Json),
  payload: Type.Optional(Json),
};

/** In `/v1/runs/{runId}/events` the path names the run. */
const { runId: _, ...EVENT_OF_RUN } = EVENT;

export const RunEvent = Type.Object(EVENT, { title: 'RunEvent', additionalProperties: true });
export const EventOfRun = Type.Object(
  { ...EVENT_OF_RUN, runId: Type.Optional(Id) },
  { title: 'EventOfRun', additionalProperties: true },
);
export const RunEventRecord = Type.Object(
  {
    ...EVENT,
    idempotencyKey: Id,
    runSeq: Type.Integer(),
    persistedAt: Time,
    redacted: Type.Optional(Type.Object({ at: Time, by: Id, reason: Type.String() })),
  },
  { title: 'RunEventRecord', additionalProperties: true },
);
export const AppendResult = Type.Object(
  {
    eventId: Type.String(),
    runSeq: Type.Integer(),
    persistedAt: Time,
    idempotent: Type.Boolean(),
    persisted: Type.Boolean(),
    payloadMatches: Type.Optional(Type.Boolean()),
  },
  { title: 'AppendResult' },
);

const RunStatus = Type.Enum(['PENDING', 'RUNNING', 'PAUSED', 'COMPLETED', 'FAILED', 'CANCELLED'], {
  title: 'RunStatus',
});

const SCOPE = { tenantId: Id, runId: Id, projectId: Id, environmentId: Id, planId: Id, planVersion: Id };

export const RunSummary = Type.Object(
  {
    ...SCOPE,
    status: RunStatus,
    lastEventSeq: Type.Integer(),
    createdAt: Time,
    updatedAt: Time,
    labels: Type.Record(Type.String(), Type.String()),
    parentRunId: Type.Optional(Id),
  },
  { title: 'RunSummary' },
);
export const RunSnapshot = Type.Object(
  {
    ...SCOPE,
    status: RunStatus,
    lastEventSeq: Type.Integer(),
    steps: Type.Array(Json),
    artifacts: Type.Array(Json),
    consistency: Type.Enum(['CONSISTENT', 'INCONSISTENT']),
    violations: Type.Array(Json),
    invalidEvents: Type.Optional(Type.Integer()),
    freshness: Type.Enum(['FRESH', 'STALE']),
    projectedAt: Time,
    version: Type.Integer(),
  },
  { title: 'RunSnapshot', additionalProperties: true },
);
export const RefreshedSnapshot = Type.Object({
  snapshot: RunSnapshot,
  folded: Type.Integer(),
  invalid: Type.Optional(Type.Integer()),
  rewrites: Type.Optional(Type.Integer()),
});
export const Fork = Type.Object({ toRunId: Id, atSeq: Type.Optional(Count) });
export const ForkResult = Type.Object({
  tenantId: Id,
  runId: Id,
  forkedFrom: Type.Object({ runId: Id, atSeq: Type.Integer() }),
  copied: Type.Integer(),
});
export const VerifyReport = Type.Object({
  runId: Id,
  tenantId: Id,
  ok: Type.Boolean(),
  events: Type.Integer(),
  head: Type.String(),
  problem: Type.Optional(Type.Object({ runSeq: Type.Integer(), reason: Type.String() })),
  snapshot: Type.Optional(
    Type.Object({
      runSeq: Type.Integer(),
      ok: Type.Boolean(),
      problem: Type.Optional(Type.String()),
      resynced: Type.Optional(Type.Boolean()),
    }),
  ),
});
export const RestoreResult = Type.Object({
  tenantId: Id,
  runId: Id,
  lastEventSeq: Type.Integer(),
  restored: Type.Boolean(),
});
export const Archive = Type.Object({
  location: Type.String(),
  atSeq: Count,
  rewrites: Type.Optional(
    Type.Integer({ minimum: 0, description: 'That of the export, to be refused if it has moved' }),
  ),
});
export const Redaction = Type.Object({ by: Id, reason: Type.String() });
export const QuarantinedRun = Type.Object({
  tenantId: Id,
  runId: Id,
  fromSeq: Type.Integer(),
  reason: Type.String(),
  at: Time,
  state: Type.Union([Type.Literal('quarantined'), Type.Literal('released')]),
  release: Type.Integer(),
});
export const FeedPage = Type.Object({
  items: Type.Array(
    Type.Object({ cursor: Type.String(), event: RunEventRecord, released: Type.Optional(Type.Literal(true)) }),
  ),
  next: Type.Optional(Type.String()),
  held: Type.Optional(
    Type.Array(Type.Object({ tenantId: Id, runId: Id, runSeq: Type.Integer(), index: Type.Integer() })),
  ),
});
