/** Schemas of what agents persist. */
import Type from 'typebox';
import { Count, Duration, Id, Json, OptionalId, RequestId, Time } from './common.ts';

export const StoredEvent = Type.Object(
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
export const RemoteBinding = Type.Object(
  { traceId: Id, contextId: OptionalId, taskId: Id, agentUrl: Type.String() },
  { title: 'RemoteBinding' },
);
export const PauseInfo = Type.Object(
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
/** The token is a secret: it travels in bodies only. */
const Token = Type.String({ description: 'The pause token; never part of a URL' });
export const SavePause = Type.Object({
  token: Token,
  payload: Json,
  ttl: Type.Optional(Duration),
  sessionId: OptionalId,
  taskId: OptionalId,
});
export const LoadPause = Type.Object({ token: Token, requestId: RequestId });
export const ClaimPause = Type.Object({ token: Token, lease: Type.Optional(Duration), requestId: RequestId });
export const PauseClaim = Type.Object({
  claim: Type.Union([Type.Object({ claimId: Id, payload: Json, leaseUntil: Time }), Type.Null()]),
});
export const SettlePause = Type.Object({ token: Token, claimId: Id });
export const PeekPause = Type.Object({ token: Token });
export const MemoryRecord = Type.Object(
  { key: Id, state: Json, version: Type.Integer(), updatedAt: Time },
  { title: 'MemoryRecord' },
);
export const MemoryInfo = Type.Object({ key: Id, version: Type.Integer(), updatedAt: Time });
export const SaveMemory = Type.Object({ state: Json, ifVersion: Type.Optional(Count), requestId: RequestId });
export const TaskState = Type.Object(
  {
    taskId: Id,
    sessionId: Id,
    status: Type.String(),
    taskType: Type.String(),
    priority: Count,
    contextSnapshot: Json,
    traceId: OptionalId,
    createdAt: Time,
    updatedAt: Time,
  },
  { title: 'TaskState', additionalProperties: true },
);
export const StateUpdate = Type.Object(
  {
    sessionId: Id,
    taskId: Id,
    traceId: OptionalId,
    updateId: Id,
    updateType: Type.String(),
    content: Type.Optional(Json),
    createdAt: Time,
  },
  { title: 'StateUpdate', additionalProperties: true },
);
export const SteeringEvent = Type.Object(
  {
    sessionId: Id,
    taskId: Id,
    eventId: Id,
    eventType: Type.String(),
    payload: Type.Optional(Json),
    traceId: OptionalId,
    createdAt: Time,
  },
  { title: 'SteeringEvent', additionalProperties: true },
);
export const PlannerEvent = Type.Object(
  { eventType: Id, ts: Count, trajectoryStep: Count, eventId: OptionalId },
  { title: 'PlannerEvent', additionalProperties: true },
);
export const SessionInfo = Type.Object(
  { sessionId: Id, createdAt: Time, lastActiveAt: Time },
  { title: 'SessionInfo' },
);
export const SessionRemoval = Type.Record(Type.String(), Type.Integer());
/** A page of a session's items. */
export function sessionPageOf(item: Type.TSchema) {
  const damaged = Type.Optional(Type.Array(Type.String()));
  return Type.Object({ items: Type.Array(item), next: Type.Optional(Id), cursorFound: Type.Boolean(), damaged });
}
