/**
 * Agents: what an agent framework such as PenguiFlow persists (document 000), in camelCase (AGT-1).
 * Each capability is a small interface of its own, so that a store can be composed of several engines.
 */
import type { CallOptions, Duration, JsonObject, Page, PageOptions } from './common.ts';

/** The capabilities that hold data of agents. Files of every layer, ports, routes and reports use these names. */
export const AGENT_PARTS = [
  'events',
  'bindings',
  'pauses',
  'memory',
  'tasks',
  'updates',
  'steering',
  'trajectories',
  'plannerEvents',
] as const;

/** A runtime event of a flow. */
export interface StoredEvent {
  /** `null` is a real history of its own: events that belong to no trace (AGT-2). */
  traceId: string | null;
  /** Unix time in seconds, with fractions. */
  ts: number;
  /** An open set: `node_start`, `node_error`, … */
  kind: string;
  nodeName: string | null;
  nodeId: string | null;
  payload: JsonObject;
  /** Makes the save idempotent; without it, all other fields together do. */
  eventId?: string;
}

/** Runtime events by trace. */
export interface EventCapability {
  /** Idempotent: by `eventId`, else by all fields. */
  saveEvent(event: StoredEvent, options?: CallOptions): Promise<void>;
  /** The same for up to 1 000 events at once. */
  saveEvents(events: readonly StoredEvent[], options?: CallOptions): Promise<void>;
  /** All events of a trace by `ts`, then by insertion; `[]` for an unknown one. */
  loadHistory(traceId: string | null, options?: CallOptions): Promise<StoredEvent[]>;
  /** The same as an iterator. */
  readHistory(traceId: string | null, options?: CallOptions): AsyncIterable<StoredEvent>;
}

/** A remote worker that serves a trace. */
export interface RemoteBinding {
  traceId: string;
  contextId: string | null;
  taskId: string;
  agentUrl: string;
}

/** Remote workers by trace; one binding per (trace, context or none, task) (AGT-3). */
export interface BindingCapability {
  saveRemoteBinding(binding: RemoteBinding, options?: CallOptions): Promise<void>;
  listRemoteBindings(traceId: string, options?: CallOptions): Promise<RemoteBinding[]>;
}

/** What may be known of a pause without its token (AGT-4). */
export interface PauseInfo {
  /** SHA-256 of the token, in hex; the token itself is never stored. */
  pauseId: string;
  state: 'waiting' | 'claimed' | 'consumed';
  createdAt: string;
  expiresAt: string;
  /** While claimed: until when. */
  leaseUntil?: string;
  sessionId?: string;
  taskId?: string;
  /** The payload's `reason`, when it is a text. */
  reason?: string;
}

/** A claimed pause: confirm it after the resume, or release it. */
export interface PauseClaim {
  claimId: string;
  payload: JsonObject;
  leaseUntil: string;
}

/** Options of a pause. */
export interface SavePauseOptions extends CallOptions {
  /** Default 1 hour. */
  ttl?: Duration;
  /** Shown in the inbox. */
  sessionId?: string;
  taskId?: string;
}

/** Pause tokens: consumed once, strongly consistent (AGT-4). */
export interface PauseCapability {
  /** Saving a consumed token again before its expiry is `TOKEN_CONSUMED`. */
  savePlannerState(token: string, payload: JsonObject, options?: SavePauseOptions): Promise<void>;
  /** The payload, once; `{}` for missing, expired and consumed tokens. The same `requestId` hears it again. */
  loadPlannerState(token: string, options?: CallOptions & { requestId?: string }): Promise<JsonObject>;
  /** Takes the pause for a while (60 s by default); `null` when there is nothing to take. */
  claimPause(
    token: string,
    options?: CallOptions & { lease?: Duration; requestId?: string },
  ): Promise<PauseClaim | null>;
  /** Consumes a claimed pause for good. `CLAIM_LOST` when the lease has gone to another. */
  confirmPause(token: string, claimId: string, options?: CallOptions): Promise<void>;
  /** Gives a claimed pause back. `CLAIM_LOST` when the lease has gone to another. */
  releasePause(token: string, claimId: string, options?: CallOptions): Promise<void>;
  /** Looks without consuming; `null` when missing or expired. */
  peekPause(token: string, options?: CallOptions): Promise<PauseInfo | null>;
  /** Pauses that have not expired, in order of their ids. */
  listPauses(options?: PageOptions & { sessionId?: string }): Promise<Page<PauseInfo>>;
}

/** A memory state with what the store knows of it. */
export interface MemoryRecord {
  key: string;
  state: JsonObject;
  /** 1 for the first save, growing by 1. */
  version: number;
  updatedAt: string;
}

/** Short-term memory, last write wins (AGT-5). */
export interface MemoryCapability {
  /**
   * Saves a state and returns its version, which grows by 1 with every save. Versions go on after a delete, for at least a day,
   * so that a stale `expectedVersion` never meets a new state. With `expectedVersion` (0: absent) the save is conditional. Retried with
   * the same `requestId`, it returns the version it was given and writes nothing.
   *
   * @throws `VERSION_CONFLICT` when the state does not have the version.
   */
  saveMemoryState(
    key: string,
    state: JsonObject,
    options?: CallOptions & { expectedVersion?: number; requestId?: string },
  ): Promise<{ version: number }>;
  /** Exactly what was saved; `null` for an unknown key. */
  loadMemoryState(key: string, options?: CallOptions): Promise<JsonObject | null>;
  /** The state with its version and time. */
  getMemoryRecord(key: string, options?: CallOptions): Promise<MemoryRecord | null>;
  /** Keys in byte order with version and time, without the states. */
  listMemory(options?: PageOptions & { prefix?: string }): Promise<Page<Omit<MemoryRecord, 'state'>>>;
  /**
   * Deletes a state, with `expectedVersion` only while it has that version, and returns whether there was one. Retried with the same
   * `requestId`, it returns the same and deletes nothing that was saved since.
   *
   * @throws `VERSION_CONFLICT` when the state does not have the version.
   */
  deleteMemoryState(
    key: string,
    options?: CallOptions & { expectedVersion?: number; requestId?: string },
  ): Promise<boolean>;
}

export type TaskStatus = 'PENDING' | 'RUNNING' | 'PAUSED' | 'COMPLETE' | 'FAILED' | 'CANCELLED';
export type TaskType = 'FOREGROUND' | 'BACKGROUND';

/** A task of a session. */
export interface TaskState {
  taskId: string;
  sessionId: string;
  status: TaskStatus;
  taskType: TaskType;
  priority: number;
  contextSnapshot: JsonObject;
  traceId?: string | null;
  result?: unknown;
  error?: unknown;
  description?: string | null;
  progress?: unknown;
  /** RFC 3339 UTC. */
  createdAt: string;
  updatedAt: string;
}

/** Tasks by session (AGT-6). */
export interface TaskCapability {
  /** A save older than the stored `updatedAt` changes nothing and is no error. */
  saveTask(task: TaskState, options?: CallOptions): Promise<void>;
  /** All tasks of the session in order of creation; `[]` for an unknown one. */
  listTasks(sessionId: string, options?: CallOptions): Promise<TaskState[]>;
  /** The same as an iterator. */
  readTasks(sessionId: string, options?: CallOptions): AsyncIterable<TaskState>;
}

export type UpdateType =
  | 'THINKING'
  | 'PROGRESS'
  | 'TOOL_CALL'
  | 'RESULT'
  | 'ERROR'
  | 'CHECKPOINT'
  | 'STATUS_CHANGE'
  | 'NOTIFICATION';

/** A streaming update of a task. */
export interface StateUpdate {
  sessionId: string;
  taskId: string;
  traceId?: string | null;
  updateId: string;
  updateType: UpdateType;
  content: unknown;
  stepIndex?: number | null;
  totalSteps?: number | null;
  createdAt: string;
}

/** Options of the cursor lists of a session (AGT-7). */
export interface SessionListOptions extends CallOptions {
  /** Only this task; applied after the cursor. */
  taskId?: string;
  /** Only what came after the item with this id; an unknown id means from the start. */
  sinceId?: string;
  /** 1 to 10 000, default 500. */
  limit?: number;
}

/** A page of a session's updates or steering; `next` is the `sinceId` of the following page. */
export interface SessionPage<T> extends Page<T> {
  /** False when `sinceId` was given but is unknown. */
  cursorFound: boolean;
}

/** Updates by session: first write wins, order of arrival (AGT-7). */
export interface UpdateCapability {
  saveUpdate(update: StateUpdate, options?: CallOptions): Promise<void>;
  listUpdates(sessionId: string, options?: SessionListOptions): Promise<StateUpdate[]>;
  listUpdatesPage(sessionId: string, options?: SessionListOptions): Promise<SessionPage<StateUpdate>>;
  /** What is there after `sinceId`, then each new one, until aborted. */
  tailUpdates(sessionId: string, options?: Omit<SessionListOptions, 'limit'>): AsyncIterable<StateUpdate>;
}

export type SteeringEventType =
  | 'INJECT_CONTEXT'
  | 'REDIRECT'
  | 'CANCEL'
  | 'PRIORITIZE'
  | 'PAUSE'
  | 'RESUME'
  | 'APPROVE'
  | 'REJECT'
  | 'USER_MESSAGE';

/** An intervention in a task. Its payload is untrusted and stored sanitised (AGT-8). */
export interface SteeringEvent {
  sessionId: string;
  taskId: string;
  eventId: string;
  eventType: SteeringEventType;
  payload?: JsonObject;
  traceId?: string | null;
  source?: string;
  createdAt: string;
}

/** Steering by session. */
export interface SteeringCapability {
  saveSteering(event: SteeringEvent, options?: CallOptions): Promise<void>;
  listSteering(sessionId: string, options?: SessionListOptions): Promise<SteeringEvent[]>;
  listSteeringPage(sessionId: string, options?: SessionListOptions): Promise<SessionPage<SteeringEvent>>;
}

/** Planner trajectories: a trace belongs to one session (AGT-9). */
export interface TrajectoryCapability {
  /** Saving again moves the trace to most recent; under another session it is `SESSION_MISMATCH`. */
  saveTrajectory(traceId: string, sessionId: string, trajectory: JsonObject, options?: CallOptions): Promise<void>;
  /** `null` when unknown or of another session. */
  getTrajectory(traceId: string, sessionId: string, options?: CallOptions): Promise<JsonObject | null>;
  /** Traces of a session, most recent first; limit 1 to 10 000, default 50. */
  listTraces(sessionId: string, limit?: number, options?: CallOptions): Promise<string[]>;
}

/** A structured event of the planner. */
export interface PlannerEvent {
  eventType: string;
  /** Unix time in seconds, with fractions. */
  ts: number;
  trajectoryStep: number;
  thought?: string | null;
  nodeName?: string | null;
  latencyMs?: number | null;
  tokenEstimate?: number | null;
  error?: string | null;
  extra?: JsonObject;
  /** Makes the save idempotent; without it, all other fields together do. */
  eventId?: string;
}

/** Planner events by trace, in emission order (AGT-10). */
export interface PlannerEventCapability {
  savePlannerEvent(traceId: string, event: PlannerEvent, options?: CallOptions): Promise<void>;
  listPlannerEvents(traceId: string, options?: CallOptions): Promise<PlannerEvent[]>;
  /** The same as an iterator. */
  readPlannerEvents(traceId: string, options?: CallOptions): AsyncIterable<PlannerEvent>;
}

/** A session in a list. */
export interface SessionInfo {
  sessionId: string;
  /** When the store first heard of the session, and last. */
  createdAt: string;
  lastActiveAt: string;
}

/** How much `deleteSession` removed. */
export interface SessionRemoval {
  tasks: number;
  updates: number;
  steering: number;
  trajectories: number;
  plannerEvents: number;
}

/** The sessions that tasks, updates, steering and trajectories speak of. */
export interface SessionCapability {
  /** In byte order of session ids. */
  listSessions(options?: PageOptions): Promise<Page<SessionInfo>>;
  /** Removes tasks, updates, steering, trajectories and the planner events of those traces. */
  deleteSession(sessionId: string, options?: CallOptions): Promise<SessionRemoval>;
}

/** Everything an agent framework persists. */
export interface AgentStore
  extends EventCapability,
    BindingCapability,
    PauseCapability,
    MemoryCapability,
    TaskCapability,
    UpdateCapability,
    SteeringCapability,
    TrajectoryCapability,
    PlannerEventCapability,
    SessionCapability {}
