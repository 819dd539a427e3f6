/** Schemas of jobs. */
import type * as Contract from '@tidemark/core/portable';
import { JOB_STATES } from '@tidemark/core/portable';
import Type from 'typebox';
import { Count, Duration, Id, Json, RequestId, shapeOf } from './common.ts';

export const Job = shapeOf<Contract.Job>()(
  {
    taskType: Type.String(),
    taskId: Id,
    key: Id,
    state: Type.Enum([...JOB_STATES]),
    worker: Type.Optional(Id),
    currentStep: Type.Optional(Type.Integer()),
    stepCount: Type.Optional(Type.Integer()),
    createdAt: Type.Integer(),
    updatedAt: Type.Integer(),
    timeoutAt: Type.Optional(Type.Integer()),
    runAt: Type.Optional(Type.Integer()),
    priority: Type.Integer(),
    retryCount: Type.Integer(),
    maxRetries: Type.Integer(),
    error: Type.Optional(Type.String()),
    paramsRef: Type.Optional(Type.String()),
    resultRef: Type.Optional(Type.String()),
    revision: Type.Integer(),
  },
  { title: 'Job' },
);
export const NewJob = shapeOf<Contract.NewJob>()(
  {
    taskType: Type.String(),
    taskId: Id,
    delay: Type.Optional(Duration),
    priority: Type.Optional(Count),
    stepCount: Type.Optional(Count),
    maxRetries: Type.Optional(Count),
    paramsRef: Type.Optional(Type.String()),
    fields: Type.Optional(Type.Record(Type.String(), Json)),
  },
  { title: 'NewJob', additionalProperties: true },
);
export const Enqueued = Type.Object({ job: Job, created: Type.Boolean() });
export const ClaimRequest = Type.Object({
  taskType: Type.String(),
  taskId: Type.Optional(Id),
  worker: Id,
  lease: Type.Optional(Duration),
  claimId: Type.Optional(Type.String()),
  takeExpired: Type.Optional(Type.Boolean()),
});
export const Claimed = Type.Object({
  claim: Type.Union([
    shapeOf<Contract.ClaimedJob>()({
      taskType: Type.String(),
      taskId: Id,
      claimId: Type.String(),
      lease: Type.Optional(Duration),
      job: Job,
    }),
    Type.Null(),
  ]),
});

/** Every call of a worker contains the worker's claim. */
const HOLD = { claimId: Type.String(), lease: Type.Optional(Duration) };
export const Heartbeat = Type.Object(HOLD);
export const Progress = Type.Object({ ...HOLD, currentStep: Count, stepCount: Type.Optional(Count) });
export const Complete = Type.Object({
  ...HOLD,
  resultRef: Type.Optional(Type.Union([Type.String(), Type.Null()])),
  ttl: Type.Optional(Duration),
});
export const Fail = Type.Object({
  ...HOLD,
  error: Type.String(),
  retry: Type.Optional(Type.Boolean()),
  delay: Type.Optional(Duration),
  ttl: Type.Optional(Duration),
});
export const Park = Type.Object({
  ...HOLD,
  until: Type.Optional(Count),
  delay: Type.Optional(Duration),
});
export const Wake = Type.Object({ requestId: RequestId });
export const Cancel = Type.Object({ ttl: Type.Optional(Duration), requestId: RequestId });
export const Requeue = Type.Object({ delay: Type.Optional(Duration), requestId: RequestId });
export const OverdueJob = shapeOf<Contract.OverdueJob>()({ job: Job, reason: Type.String() });
export const Recover = Type.Object({
  overdue: shapeOf<Contract.OverdueJob>()({ job: Json, reason: Json }),
  requestId: RequestId,
});
export const Recovered = shapeOf<Contract.RecoveredJob>()({ outcome: Type.String(), job: Job });
