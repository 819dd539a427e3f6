/** Schemas of the data that agents persist. */
import type * as Contract from '@tidemark/core/portable';
import Type from 'typebox';
import { Count, Duration, Id, Json, jsonOf, OptionalId, RequestId, shapeOf, Time } from './common.ts';

const OptionalText = Type.Optional(Type.Union([Type.String(), Type.Null()]));
const OptionalCount = Type.Optional(Type.Union([Count, Type.Null()]));

export const StoredEvent = shapeOf<Contract.StoredEvent>()(
  {
    traceId: OptionalId,
    ts: Count,
    kind: Id,
    nodeName: OptionalId,
    nodeId: OptionalId,
    payload: Json,
    eventId: OptionalId,
  },
  { title: 'StoredEvent' },
);
export const RemoteBinding = shapeOf<Contract.RemoteBinding>()(
  {
    traceId: Id,
    contextId: OptionalId,
    taskId: Id,
    agentUrl: Type.String(),
    routerSessionId: OptionalId,
    remoteSkill: OptionalId,
    tenantId: OptionalId,
    userId: OptionalId,
    lastRemoteTaskId: OptionalId,
    isTerminal: Type.Optional(Type.Union([Type.Boolean(), Type.Null()])),
    metadata: Type.Optional(Json),
  },
  { title: 'RemoteBinding' },
);
export const BindingQuery = shapeOf<Contract.BindingQuery>()({
  routerSessionId: Id,
  agentUrl: Type.String(),
  remoteSkill: Id,
  tenantId: OptionalId,
  userId: OptionalId,
});
export const BindingKey = shapeOf<Contract.BindingKey>()({ traceId: Id, contextId: OptionalId, taskId: Id });
export const PauseInfo = shapeOf<Contract.PauseInfo>()(
  {
    pauseId: Type.String(),
    state: Type.Enum(['waiting', 'claimed', 'consumed']),
    createdAt: Time,
    expiresAt: Time,
    leaseUntil: Type.Optional(Time),
    sessionId: Type.Optional(Id),
    taskId: Type.Optional(Id),
    reason: Type.Optional(Type.String()),
  },
  { title: 'PauseInfo' },
);
/** The token is a secret, so it is sent only in bodies. */
const Token = Type.String({ description: 'The pause token; never part of a URL' });
export const SavePause = Type.Object({
  token: Token,
  payload: jsonOf<Contract.JsonObject>(),
  ttl: Type.Optional(Duration),
  sessionId: OptionalId,
  taskId: OptionalId,
});
export const LoadPause = Type.Object({ token: Token, requestId: RequestId });
export const ClaimPause = Type.Object({ token: Token, lease: Type.Optional(Duration), requestId: RequestId });
export const PauseClaim = Type.Object({
  claim: Type.Union([shapeOf<Contract.PauseClaim>()({ claimId: Id, payload: Json, leaseUntil: Time }), Type.Null()]),
});
export const SettlePause = Type.Object({ token: Token, claimId: Id });
export const PeekPause = Type.Object({ token: Token });
export const MemoryRecord = shapeOf<Contract.MemoryRecord>()(
  { key: Id, state: Json, version: Type.Integer(), updatedAt: Time },
  { title: 'MemoryRecord' },
);
export const MemoryInfo = shapeOf<Omit<Contract.MemoryRecord, 'state'>>()({
  key: Id,
  version: Type.Integer(),
  updatedAt: Time,
});
export const SaveMemory = Type.Object({
  state: jsonOf<Contract.JsonObject>(),
  expectedVersion: Type.Optional(Count),
  requestId: RequestId,
});
export const TaskState = shapeOf<Contract.TaskState>()(
  {
    taskId: Id,
    sessionId: Id,
    status: Type.String(),
    taskType: Type.String(),
    priority: Count,
    contextSnapshot: Json,
    traceId: OptionalId,
    result: Type.Optional(Json),
    error: Type.Optional(Json),
    description: OptionalText,
    progress: Type.Optional(Json),
    createdAt: Time,
    updatedAt: Time,
  },
  { title: 'TaskState', additionalProperties: true },
);
export const StateUpdate = shapeOf<Contract.StateUpdate>()(
  {
    sessionId: Id,
    taskId: Id,
    traceId: OptionalId,
    updateId: Id,
    updateType: Type.String(),
    content: Type.Optional(Json),
    stepIndex: OptionalCount,
    totalSteps: OptionalCount,
    createdAt: Time,
  },
  { title: 'StateUpdate', additionalProperties: true },
);
export const SteeringEvent = shapeOf<Contract.SteeringEvent>()(
  {
    sessionId: Id,
    taskId: Id,
    eventId: Id,
    eventType: Type.String(),
    payload: Type.Optional(Json),
    traceId: OptionalId,
    source: Type.Optional(Type.String()),
    createdAt: Time,
  },
  { title: 'SteeringEvent', additionalProperties: true },
);
export const PlannerEvent = shapeOf<Contract.PlannerEvent>()(
  {
    eventType: Id,
    ts: Count,
    trajectoryStep: Count,
    thought: OptionalText,
    nodeName: OptionalText,
    latencyMs: OptionalCount,
    tokenEstimate: OptionalCount,
    error: OptionalText,
    extra: Type.Optional(Json),
    eventId: OptionalId,
  },
  { title: 'PlannerEvent', additionalProperties: true },
);
export const SessionInfo = shapeOf<Contract.SessionInfo>()(
  { sessionId: Id, createdAt: Time, lastActiveAt: Time },
  { title: 'SessionInfo' },
);
export const SessionRemoval = Type.Unsafe<Contract.SessionRemoval>(Type.Record(Type.String(), Type.Integer()));
/** A page of a session's items. */
export function sessionPageOf<Item extends Type.TSchema>(item: Item) {
  const damaged = Type.Optional(Type.Array(Type.String()));
  return Type.Object({ items: Type.Array(item), next: Type.Optional(Id), cursorFound: Type.Boolean(), damaged });
}
