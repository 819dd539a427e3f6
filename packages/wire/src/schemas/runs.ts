/** Schemas of runs. They describe only the shape of events. The store checks all other rules. */
import * as Contract from '@tidemark/core/portable';
import Type, { type TSchema } from 'typebox';
import { Count, Id, Json, shapeOf, Time } from './common.ts';

const ForkOrigin = shapeOf<Contract.ForkOrigin>()({ runId: Id, runSeq: Type.Integer(), atSeq: Type.Integer() });

/** The schema of each field that callers send, by the type of the field. The store checks numbers itself. */
const FIELD_TYPES: Record<(typeof Contract.EVENT_FIELDS)[Contract.ReadField]['type'], TSchema> = {
  uuid: Type.String({ description: 'UUID version 4' }),
  id: Id,
  time: Time,
  integer: Count,
  object: Json,
  instant: Time,
};

/** Returns the schemas of the named fields of the table. */
function fieldSchemas<Name extends Contract.ReadField>(names: readonly Name[]): Record<Name, TSchema> {
  const schemas = names.map((name) => {
    const { part, type, ...field } = Contract.EVENT_FIELDS[name];
    const schema = part === 'store' && type === 'integer' ? Type.Integer() : FIELD_TYPES[type];
    return [name, 'optional' in field ? Type.Optional(schema) : schema];
  });
  return Object.fromEntries(schemas) as Record<Name, TSchema>;
}

const EXTENSIONS = {
  labels: Type.Optional(Json),
  parentRunId: Type.Optional(Id),
  forkedFrom: Type.Optional(ForkOrigin),
  traceparent: Type.Optional(Type.String()),
  adapterVersion: Type.Optional(Type.String()),
  engineRunRef: Type.Optional(Json),
  causedBySignalId: Type.Optional(Type.String()),
  parentEventId: Type.Optional(Type.String()),
  sourceEventId: Type.Optional(Type.String()),
  sourceRunSeq: Type.Optional(Count),
};

const SENT = fieldSchemas(Contract.SENT_FIELDS);

/**
 * An event in a request. The store fills in missing fields and derives a missing key. An event needs an `eventId` or an
 * `idempotencyKey`.
 */
const EVENT = { ...Type.Partial(Type.Object(SENT)).properties, runId: Id, eventType: Id, ...EXTENSIONS };

/** An event sent to `/v1/runs/{runId}/events`, where the path names the run. */
export interface EventOfRun extends Partial<Contract.RunEventInput> {
  eventType: string;
  [extra: string]: unknown;
}

export const RunEvent = shapeOf<Contract.RunEventInput>()(EVENT, { title: 'RunEvent', additionalProperties: true });
export const EventOfRun = shapeOf<EventOfRun>()(
  { ...EVENT, runId: Type.Optional(Id) },
  { title: 'EventOfRun', additionalProperties: true },
);
export const RunEventRecord = shapeOf<Contract.RunEventRecord>()(
  {
    ...fieldSchemas(Contract.READ_FIELDS),
    ...EXTENSIONS,
    redacted: Type.Optional(Type.Object({ at: Time, by: Id, reason: Type.String() })),
  },
  { title: 'RunEventRecord', additionalProperties: true },
);
/** The life of a run; absent in the first life. */
export const Life = Type.Optional(
  Type.Integer({ description: 'How many times a run with this id has begun. Absent in its first life' }),
);
export const AppendResult = shapeOf<Contract.AppendResult>()(
  {
    eventId: Type.String(),
    runSeq: Type.Integer(),
    persistedAt: Time,
    idempotent: Type.Boolean(),
    persisted: Type.Boolean(),
    payloadMatches: Type.Optional(Type.Boolean()),
    life: Life,
  },
  { title: 'AppendResult' },
);

const RunStatus = Type.Enum([...Contract.RUN_STATUSES], {
  title: 'RunStatus',
});

const SCOPE = { tenantId: Id, runId: Id, projectId: Id, environmentId: Id, planId: Id, planVersion: Id };

export const RunSummary = shapeOf<Contract.RunSummary>()(
  {
    ...SCOPE,
    status: RunStatus,
    lastEventSeq: Type.Integer(),
    createdAt: Time,
    updatedAt: Time,
    labels: Type.Record(Type.String(), Type.String()),
    parentRunId: Type.Optional(Id),
    life: Life,
    expiresAt: Type.Optional(Time),
  },
  { title: 'RunSummary' },
);
export const CheckpointOfRun = Type.Object(
  {
    configured: Type.Boolean({ description: 'False if this server was started without checkpoints' }),
    checkpoint: Type.Optional(
      Type.Object({
        number: Type.Integer(),
        at: Time,
        root: Type.String({ description: 'The Merkle root over all runs, in hex' }),
        key: Type.String({ description: 'The raw public key of the signer, in base64url' }),
        runs: Type.Optional(Type.Integer({ description: 'How many runs it covers; only for operators' })),
      }),
    ),
    point: Type.Optional(
      Type.Object(
        { life: Type.Integer(), lastEventSeq: Type.Integer(), head: Type.String(), at: Time },
        { description: 'The run at the checkpoint. Absent if the checkpoint does not cover the run' },
      ),
    ),
  },
  { title: 'CheckpointOfRun' },
);
export const DeleteExpired = shapeOf<Omit<Contract.DeleteExpiredOptions, 'signal' | 'timeoutMs'>>()(
  {
    tenantId: Type.Optional(Id),
    cursor: Type.Optional(Type.String()),
    limit: Type.Optional(Type.Integer()),
  },
  { title: 'DeleteExpired' },
);
export const ExpiredRuns = shapeOf<Contract.ExpiredRuns>()(
  { deleted: Type.Integer(), next: Type.Optional(Type.String()) },
  { title: 'ExpiredRuns' },
);
const RunFailure = shapeOf<Contract.RunFailure>()(
  {
    code: Type.Optional(Type.String()),
    message: Type.Optional(Type.String()),
    retryable: Type.Optional(Type.Boolean()),
  },
  { title: 'RunFailure' },
);
const StepSnapshot = shapeOf<Contract.StepSnapshot>()(
  {
    stepId: Id,
    status: Type.Enum(['PENDING', 'RUNNING', 'SUCCESS', 'FAILED', 'SKIPPED']),
    logicalAttemptId: Type.Integer(),
    engineAttemptId: Type.Integer(),
    startedAt: Type.Optional(Time),
    completedAt: Type.Optional(Time),
    durationMs: Type.Optional(Type.Integer()),
    artifacts: Type.Array(Json),
    error: Type.Optional(RunFailure),
  },
  { title: 'StepSnapshot' },
);
const TransitionViolation = shapeOf<Contract.TransitionViolation>()(
  {
    runSeq: Type.Integer(),
    eventId: Type.String(),
    eventType: Type.String(),
    stepId: Type.Optional(Id),
    reason: Type.String(),
  },
  { title: 'TransitionViolation' },
);
export const RunSnapshot = shapeOf<Contract.RunSnapshot>()(
  {
    ...SCOPE,
    status: RunStatus,
    lastEventSeq: Type.Integer(),
    steps: Type.Array(StepSnapshot),
    artifacts: Type.Array(Json),
    error: Type.Optional(RunFailure),
    queued: Type.Optional(Type.Boolean({ description: 'True after a RunQueued event' })),
    startedAt: Type.Optional(Time),
    completedAt: Type.Optional(Time),
    totalDurationMs: Type.Optional(Type.Integer()),
    consistency: Type.Enum(['CONSISTENT', 'INCONSISTENT']),
    violations: Type.Array(TransitionViolation),
    invalidEvents: Type.Optional(Type.Integer()),
    freshness: Type.Enum(['FRESH', 'STALE']),
    projectedAt: Time,
    life: Life,
    redactions: Type.Optional(Type.Integer()),
    version: Type.Integer(),
  },
  { title: 'RunSnapshot', additionalProperties: true },
);
export const RefreshedSnapshot = shapeOf<Contract.RefreshedSnapshot>()({
  snapshot: RunSnapshot,
  folded: Type.Integer(),
  invalid: Type.Optional(Type.Integer()),
  rewrites: Type.Optional(Type.Integer()),
});
export const Fork = Type.Object({ toRunId: Id, atSeq: Type.Optional(Count) });
export const ForkResult = shapeOf<Contract.ForkResult>()({
  tenantId: Id,
  runId: Id,
  forkedFrom: Type.Object({ runId: Id, atSeq: Type.Integer() }),
  copied: Type.Integer(),
});
export const VerifyReport = shapeOf<Contract.VerifyReport>()({
  runId: Id,
  tenantId: Id,
  ok: Type.Boolean(),
  events: Type.Integer(),
  head: Type.String(),
  life: Life,
  problem: Type.Optional(Type.Object({ runSeq: Type.Integer(), reason: Type.String() })),
  summary: Type.Optional(Type.Object({ field: Type.String(), rule: Type.String() })),
  snapshot: Type.Optional(
    Type.Object({
      runSeq: Type.Integer(),
      ok: Type.Boolean(),
      problem: Type.Optional(Type.String()),
      resynced: Type.Optional(Type.Boolean()),
    }),
  ),
});
export const RestoreResult = shapeOf<Contract.RestoreResult>()({
  tenantId: Id,
  runId: Id,
  lastEventSeq: Type.Integer(),
  restored: Type.Boolean(),
});
export const Archive = Type.Object({
  location: Type.String(),
  expectedSeq: Count,
  expectedRewrites: Type.Optional(
    Type.Integer({ minimum: 0, description: 'The rewrites of the export; the call fails if they have changed' }),
  ),
});
export const Redaction = Type.Object({ by: Id, reason: Type.String() });
export const QuarantinedRun = shapeOf<Contract.QuarantinedRun>()({
  tenantId: Id,
  runId: Id,
  fromSeq: Type.Integer(),
  reason: Type.String(),
  at: Time,
  state: Type.Union([Type.Literal('quarantined'), Type.Literal('released')]),
  release: Type.Integer(),
});
const RunNotice = shapeOf<Contract.RunNotice>()(
  {
    kind: Type.Enum([...Contract.NOTICE_KINDS]),
    tenantId: Id,
    runId: Id,
    life: Type.Integer(),
    runSeq: Type.Optional(Type.Integer()),
  },
  { title: 'RunNotice' },
);
export const FeedPage = shapeOf<Contract.FeedPage<Contract.FeedItem | Contract.NoticeItem>>()({
  items: Type.Array(
    Type.Union([
      Type.Object({
        cursor: Type.String(),
        event: RunEventRecord,
        life: Life,
        released: Type.Optional(Type.Literal(true)),
      }),
      Type.Object({ cursor: Type.String(), notice: RunNotice }),
    ]),
  ),
  next: Type.Optional(Type.String()),
  held: Type.Optional(
    Type.Array(Type.Object({ tenantId: Id, runId: Id, runSeq: Type.Integer(), index: Type.Integer() })),
  ),
});
