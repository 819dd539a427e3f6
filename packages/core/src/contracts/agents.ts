/**
 * Agents: the data that an agent framework such as PenguiFlow persists, with names in camelCase. Each capability has
 * its own small interface, so that a store can combine several engines.
 */
import type { CallOptions, Duration, JsonObject, Page, PageOptions } from './common.ts';

/** The capabilities that hold data of agents. Files in every layer, ports, routes and reports use these names. */
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
  /** The trace of the event, or `null` for events that belong to no trace, which have their own history. */
  traceId: string | null;
  /** Unix time in seconds, with fractions. */
  ts: number;
  /** Any name: `node_start`, `node_error`, … */
  kind: string;
  nodeName: string | null;
  nodeId: string | null;
  payload: JsonObject;
  /** Makes the save idempotent. Without it, all other fields together identify the event. */
  eventId?: string;
}

/** Saves and reads runtime events by trace. */
export interface EventCapability {
  /**
   * Saves an event. Saving it again stores nothing: events are identified by `eventId` or, without one, by all their
   * fields.
   *
   * @throws `INVALID_PAYLOAD` if the payload is not plain JSON, `PAYLOAD_TOO_LARGE` if it exceeds `info.limits`.
   */
  saveEvent(event: StoredEvent, options?: CallOptions): Promise<void>;
  /**
   * Saves up to 1 000 events, each as `saveEvent` does.
   *
   * @throws `INVALID_PAYLOAD`, `PAYLOAD_TOO_LARGE`.
   */
  saveEvents(events: readonly StoredEvent[], options?: CallOptions): Promise<void>;
  /**
   * Returns all events of a trace by `ts`, then in order of insertion, or `[]` for an unknown trace.
   *
   * @throws `CORRUPT_VALUE` if an event does not match its checksum. `CODEC_FAILED` if this store cannot decode it.
   */
  loadHistory(traceId: string | null, options?: CallOptions): Promise<StoredEvent[]>;
  /**
   * Yields the events that `loadHistory` returns, page by page.
   *
   * @throws `CORRUPT_VALUE` after the last of the other events. `CODEC_FAILED`.
   */
  readHistory(traceId: string | null, options?: CallOptions): AsyncIterable<StoredEvent>;
}

/** A remote worker that serves a trace. An optional id that is `null` is the same as an absent one. */
export interface RemoteBinding {
  traceId: string;
  contextId: string | null;
  taskId: string;
  agentUrl: string;
  /** The session of the router that delegated the task. `listBindings` and `findBinding` look it up. */
  routerSessionId?: string | null;
  /** The skill of the remote worker. */
  remoteSkill?: string | null;
  /**
   * The tenant for which the remote worker acts. Part of the binding's data; it need not be the tenant that stores the
   * binding.
   */
  tenantId?: string | null;
  /** The user for whom the remote worker acts. */
  userId?: string | null;
  /** The task that the remote worker had last. */
  lastRemoteTaskId?: string | null;
  /** Whether the conversation has ended, so that `findBinding` passes the binding over. Absent means no. */
  isTerminal?: boolean | null;
  metadata?: JsonObject;
}

/** Identifies a binding. */
export type BindingKey = Pick<RemoteBinding, 'traceId' | 'contextId' | 'taskId'>;

/** The binding to find. A `tenantId` or `userId` that is absent matches only a binding without one. */
export interface BindingQuery {
  routerSessionId: string;
  agentUrl: string;
  remoteSkill: string;
  tenantId?: string | null;
  userId?: string | null;
}

/** Saves remote workers, and lists them by trace and by the session of their router. */
export interface BindingCapability {
  /**
   * Saves a binding. There is one per trace, context (or none) and task: saving again replaces it, whether it was
   * terminal or not.
   *
   * @throws `INVALID_PAYLOAD` if `metadata` is not plain JSON, `PAYLOAD_TOO_LARGE` if the binding exceeds
   * `info.limits`.
   *
   * @example
   * await store.agents.saveRemoteBinding({
   *   traceId: 'trace-1',
   *   contextId: 'context-1',
   *   taskId: 'task-1',
   *   agentUrl: 'https://worker.example',
   *   routerSessionId: 'session-1',
   *   remoteSkill: 'translate',
   * });
   * const [binding] = await store.agents.listBindings('session-1');
   * console.log(binding?.taskId); // task-1
   */
  saveRemoteBinding(binding: RemoteBinding, options?: CallOptions): Promise<void>;
  /**
   * Returns all bindings of a trace, or `[]` for an unknown trace.
   *
   * @throws `CORRUPT_VALUE`, `CODEC_FAILED`.
   */
  listRemoteBindings(traceId: string, options?: CallOptions): Promise<RemoteBinding[]>;
  /**
   * Returns the most recently updated binding that matches and is not terminal, or `null`. A router uses it to continue
   * a conversation with the same worker.
   *
   * @throws `CORRUPT_VALUE`, `CODEC_FAILED`.
   *
   * @example
   * const worker = { routerSessionId: 'session-1', agentUrl: 'https://worker.example', remoteSkill: 'translate' };
   * const ids = { traceId: 'trace-1', contextId: 'context-1', taskId: 'task-1' };
   * await store.agents.saveRemoteBinding({ ...ids, ...worker });
   * const found = await store.agents.findBinding(worker);
   * console.log(found?.contextId); // context-1
   */
  findBinding(query: BindingQuery, options?: CallOptions): Promise<RemoteBinding | null>;
  /**
   * Returns all bindings of a router's session, most recently updated first, or `[]` for an unknown session. Saving a
   * binding and marking it as terminal update it.
   *
   * @throws `CORRUPT_VALUE`, `CODEC_FAILED`.
   */
  listBindings(sessionId: string, options?: CallOptions): Promise<RemoteBinding[]>;
  /**
   * Marks a binding as terminal, so that `findBinding` passes it over. Returns whether the binding exists. Does not
   * change a binding that is already terminal.
   *
   * @throws `CORRUPT_VALUE` if the stored binding does not match its checksum.
   *
   * @example
   * const ids = { traceId: 'trace-1', contextId: null, taskId: 'task-1' };
   * await store.agents.saveRemoteBinding({ ...ids, agentUrl: 'https://worker.example' });
   * console.log(await store.agents.markBindingTerminal(ids)); // true
   */
  markBindingTerminal(binding: BindingKey, options?: CallOptions): Promise<boolean>;
}

/** The data of a pause that is readable without its token. */
export interface PauseInfo {
  /** The SHA-256 of the token, in hex. The token itself is never stored. */
  pauseId: string;
  state: 'waiting' | 'claimed' | 'consumed';
  createdAt: string;
  expiresAt: string;
  /** The end of the lease while the pause is claimed. */
  leaseUntil?: string;
  sessionId?: string;
  taskId?: string;
  /** The `reason` of the payload, if it is a string. */
  reason?: string;
}

/** A claim on a pause. Confirm it after the resume, or release it. */
export interface PauseClaim {
  claimId: string;
  payload: JsonObject;
  leaseUntil: string;
}

/** Options of `savePlannerState`. */
export interface SavePauseOptions extends CallOptions {
  /** How long the token is valid. Default 1 hour. */
  ttl?: Duration;
  /** Shown by `listPauses`, which can filter by it. */
  sessionId?: string;
  /** Shown by `listPauses`. */
  taskId?: string;
}

/**
 * Saves pauses under secret tokens. Each pause is consumed only once, on every engine and with any number of processes.
 *
 * Errors and logs never contain the token.
 */
export interface PauseCapability {
  /**
   * Saves a pause under a token. Saving a waiting or claimed pause again replaces its payload and expiry.
   *
   * @throws `TOKEN_CONSUMED` if the token was consumed and has not expired. `INVALID_PAYLOAD` if the payload is not
   * plain JSON, `PAYLOAD_TOO_LARGE` if it exceeds `info.limits`.
   *
   * @example
   * const token = mintPauseToken();
   * await store.agents.savePlannerState(token, { step: 3, reason: 'approval' }, { ttl: '1d', sessionId: 's1' });
   * console.log(await store.agents.loadPlannerState(token)); // { step: 3, reason: 'approval' }
   * console.log(await store.agents.loadPlannerState(token)); // {}
   */
  savePlannerState(token: string, payload: JsonObject, options?: SavePauseOptions): Promise<void>;
  /**
   * Consumes a pause and returns its payload, or `{}` for a token that is unknown, expired, claimed or consumed. A
   * retry with the same `requestId` returns the payload again.
   *
   * @throws `CODEC_FAILED` if this store cannot decode the payload: replay `error.write` on a store that can.
   */
  loadPlannerState(token: string, options?: CallOptions & { requestId?: string }): Promise<JsonObject>;
  /**
   * Claims a pause for a lease of 60 s by default, without consuming it. Returns `null` if the token is unknown,
   * expired, claimed by another or consumed. A retry with the same `requestId` returns the same claim.
   *
   * A claim that is neither confirmed nor released ends with its lease; the pause then waits again.
   *
   * @throws `CODEC_FAILED` if this store cannot decode the payload. The claim is released.
   *
   * @example
   * const token = mintPauseToken();
   * await store.agents.savePlannerState(token, { step: 3 });
   * const claim = await store.agents.claimPause(token, { lease: '2m' });
   * if (claim) {
   *   try {
   *     console.log('resume at step', claim.payload.step); // resume at step 3
   *     await store.agents.confirmPause(token, claim.claimId);
   *   } catch (error) {
   *     await store.agents.releasePause(token, claim.claimId);
   *     throw error;
   *   }
   * }
   */
  claimPause(
    token: string,
    options?: CallOptions & { lease?: Duration; requestId?: string },
  ): Promise<PauseClaim | null>;
  /**
   * Consumes a claimed pause permanently. Call it after the resume succeeded. Confirming twice succeeds.
   *
   * @throws `CLAIM_LOST` if another claimer has the pause, or it has expired: do not act on the claim.
   *
   * @example
   * const token = mintPauseToken();
   * await store.agents.savePlannerState(token, { step: 3 });
   * const claim = await store.agents.claimPause(token);
   * await store.agents.confirmPause(token, claim!.claimId);
   * console.log((await store.agents.peekPause(token))?.state); // consumed
   */
  confirmPause(token: string, claimId: string, options?: CallOptions): Promise<void>;
  /**
   * Releases a claimed pause, which then waits again.
   *
   * @throws `CLAIM_LOST` if another claimer has the pause, or it has expired or was consumed.
   */
  releasePause(token: string, claimId: string, options?: CallOptions): Promise<void>;
  /** Returns the data of a pause without consuming it, or `null` if it is unknown or expired. */
  peekPause(token: string, options?: CallOptions): Promise<PauseInfo | null>;
  /** Returns a page of pauses that have not expired, in order of `pauseId`: 1 to 1 000 per page, default 100. */
  listPauses(options?: PageOptions & { sessionId?: string }): Promise<Page<PauseInfo>>;
}

/** A memory state with its version. */
export interface MemoryRecord {
  key: string;
  state: JsonObject;
  /** 1 for the first save; increases by 1 with every save. */
  version: number;
  updatedAt: string;
}

/** Saves short-term memory by key. The last write wins, unless a save is conditional. */
export interface MemoryCapability {
  /**
   * Saves a state and returns its version, which increases by 1 with every save.
   *
   * With `expectedVersion` the state is saved only if it has that version; 0 means that it must not exist. Versions
   * continue after a delete for at least a day, so that an old `expectedVersion` never matches a new state. A retry
   * with the same `requestId` returns the version of the first call and writes nothing.
   *
   * @throws `VERSION_CONFLICT` if the state does not have `expectedVersion`; `current` is its version.
   * `INVALID_PAYLOAD` if the state is not plain JSON, `PAYLOAD_TOO_LARGE` if it exceeds `info.limits`.
   *
   * @example
   * const key = memoryKey('acme', 'ada', 's1');
   * const { version } = await store.agents.saveMemoryState(key, { summary: 'likes pears' });
   * await store.agents.saveMemoryState(key, { summary: 'likes apples' }, { expectedVersion: version });
   * try {
   *   await store.agents.saveMemoryState(key, { summary: 'likes plums' }, { expectedVersion: version });
   * } catch (error) {
   *   if (!isTidemarkError(error, 'VERSION_CONFLICT')) throw error;
   *   console.log(version, error.current); // 1 2
   * }
   */
  saveMemoryState(
    key: string,
    state: JsonObject,
    options?: CallOptions & { expectedVersion?: number; requestId?: string },
  ): Promise<{ version: number }>;
  /**
   * Returns the state as it was saved, or `null` for an unknown key.
   *
   * @throws `CORRUPT_VALUE` if it does not match its checksum. `CODEC_FAILED` if this store cannot decode it.
   */
  loadMemoryState(key: string, options?: CallOptions): Promise<JsonObject | null>;
  /**
   * Returns the state with its version and the time of its last save, or `null` for an unknown key.
   *
   * @throws `CORRUPT_VALUE`, `CODEC_FAILED`.
   */
  getMemoryRecord(key: string, options?: CallOptions): Promise<MemoryRecord | null>;
  /** Returns a page of keys in byte order, without their states: 1 to 1 000 per page, default 100. */
  listMemory(options?: PageOptions & { prefix?: string }): Promise<Page<Omit<MemoryRecord, 'state'>>>;
  /**
   * Deletes a state and returns whether it existed. With `expectedVersion` it is deleted only if it has that version. A
   * retry with the same `requestId` returns the same result and does not delete a state that was saved since.
   *
   * @throws `VERSION_CONFLICT` if the state does not have `expectedVersion`; `current` is its version.
   */
  deleteMemoryState(
    key: string,
    options?: CallOptions & { expectedVersion?: number; requestId?: string },
  ): Promise<boolean>;
}

/** The status of a task. */
export type TaskStatus = 'PENDING' | 'RUNNING' | 'PAUSED' | 'COMPLETE' | 'FAILED' | 'CANCELLED';
/** The kind of a task. */
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
  /** RFC 3339 UTC. Saves with an older time than the stored one change nothing. */
  updatedAt: string;
}

/** Saves and reads tasks by session. */
export interface TaskCapability {
  /**
   * Saves a task. A save with an older `updatedAt` than the stored one changes nothing and succeeds.
   *
   * @throws `INVALID_PAYLOAD` if a member is not plain JSON, `PAYLOAD_TOO_LARGE` if the task exceeds `info.limits`.
   */
  saveTask(task: TaskState, options?: CallOptions): Promise<void>;
  /**
   * Returns all tasks of a session in order of creation, or `[]` for an unknown session.
   *
   * @throws `CORRUPT_VALUE`, `CODEC_FAILED`.
   */
  listTasks(sessionId: string, options?: CallOptions): Promise<TaskState[]>;
  /**
   * Yields the tasks that `listTasks` returns, page by page.
   *
   * @throws `CORRUPT_VALUE` after the last of the other tasks. `CODEC_FAILED`.
   */
  readTasks(sessionId: string, options?: CallOptions): AsyncIterable<TaskState>;
}

/** The kind of an update. */
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
  /** Identifies the update within its session. */
  updateId: string;
  updateType: UpdateType;
  content: unknown;
  stepIndex?: number | null;
  totalSteps?: number | null;
  /** RFC 3339 UTC. */
  createdAt: string;
}

/** Options of the lists of a session. */
export interface SessionListOptions extends CallOptions {
  /** Returns only items of this task. Applied after the cursor. */
  taskId?: string;
  /** Returns only items after the item with this id. An unknown id starts from the beginning. */
  sinceId?: string;
  /** 1 to 10 000, default 500. */
  limit?: number;
}

/** A page of a session's updates or steering events. Pass `next` as `sinceId` to get the following page. */
export interface SessionPage<T> extends Page<T> {
  /** False if `sinceId` was given but is unknown. */
  cursorFound: boolean;
}

/** Saves and reads updates by session, in order of arrival. */
export interface UpdateCapability {
  /**
   * Saves an update. The first save of an `updateId` wins; later ones change nothing and succeed.
   *
   * @throws `INVALID_PAYLOAD` if a member is not plain JSON, `PAYLOAD_TOO_LARGE` if the update exceeds `info.limits`.
   *
   * @example
   * await store.agents.saveUpdate({
   *   sessionId: 's1',
   *   taskId: 't1',
   *   updateId: crypto.randomUUID(),
   *   updateType: 'PROGRESS',
   *   content: { text: 'searching' },
   *   createdAt: new Date().toISOString(),
   * });
   * const [update] = await store.agents.listUpdates('s1');
   * console.log(update?.content); // { text: 'searching' }
   */
  saveUpdate(update: StateUpdate, options?: CallOptions): Promise<void>;
  /**
   * Returns up to `limit` updates in order of arrival, or `[]` for an unknown session.
   *
   * @throws `CORRUPT_VALUE`, `CODEC_FAILED`.
   */
  listUpdates(sessionId: string, options?: SessionListOptions): Promise<StateUpdate[]>;
  /**
   * Returns a page of updates in order of arrival. `damaged` lists the ids of updates that do not match their checksum.
   *
   * @throws `CODEC_FAILED`.
   */
  listUpdatesPage(sessionId: string, options?: SessionListOptions): Promise<SessionPage<StateUpdate>>;
  /**
   * Yields the updates after `sinceId`, then each new one when it is stored. Skips damaged updates with a process
   * warning. Ends without an error when `signal` aborts or the store is closed.
   *
   * @throws `CODEC_FAILED`.
   *
   * @example
   * const update = { sessionId: 's1', taskId: 't1', content: {}, createdAt: new Date().toISOString() };
   * await store.agents.saveUpdate({ ...update, updateId: 'u1', updateType: 'THINKING' });
   * await store.agents.saveUpdate({ ...update, updateId: 'u2', updateType: 'RESULT' });
   * for await (const { updateId, updateType } of store.agents.tailUpdates('s1', { sinceId: 'u1' })) {
   *   console.log(updateId, updateType); // u2 RESULT
   *   if (updateType === 'RESULT') break;
   * }
   */
  tailUpdates(sessionId: string, options?: Omit<SessionListOptions, 'limit'>): AsyncIterable<StateUpdate>;
}

/** The kind of an intervention. */
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

/** An intervention in a task. Its payload is untrusted; it is sanitised before it is stored. */
export interface SteeringEvent {
  sessionId: string;
  taskId: string;
  /** Identifies the event within its session. */
  eventId: string;
  eventType: SteeringEventType;
  payload?: JsonObject;
  traceId?: string | null;
  source?: string;
  /** RFC 3339 UTC. */
  createdAt: string;
}

/** Saves and reads steering events by session, in order of arrival. */
export interface SteeringCapability {
  /**
   * Saves a steering event with its payload sanitised. The first save of an `eventId` wins; later ones change nothing
   * and succeed.
   *
   * @throws `INVALID_PAYLOAD` if a member is not plain JSON, `PAYLOAD_TOO_LARGE` if the event exceeds `info.limits`.
   */
  saveSteering(event: SteeringEvent, options?: CallOptions): Promise<void>;
  /**
   * Returns up to `limit` steering events in order of arrival, or `[]` for an unknown session.
   *
   * @throws `CORRUPT_VALUE`, `CODEC_FAILED`.
   */
  listSteering(sessionId: string, options?: SessionListOptions): Promise<SteeringEvent[]>;
  /**
   * Returns a page of steering events in order of arrival. `damaged` lists the ids of events that do not match their
   * checksum.
   *
   * @throws `CODEC_FAILED`.
   */
  listSteeringPage(sessionId: string, options?: SessionListOptions): Promise<SessionPage<SteeringEvent>>;
}

/** Saves and reads planner trajectories. A trace belongs to one session. */
export interface TrajectoryCapability {
  /**
   * Saves a trajectory. Saving again replaces it and makes the trace the most recent one.
   *
   * @throws `SESSION_MISMATCH` if the trace belongs to another session. `INVALID_PAYLOAD` if the trajectory is not
   * plain JSON, `PAYLOAD_TOO_LARGE` if it exceeds `info.limits`.
   */
  saveTrajectory(traceId: string, sessionId: string, trajectory: JsonObject, options?: CallOptions): Promise<void>;
  /**
   * Returns the trajectory of a trace, or `null` if it is unknown or belongs to another session.
   *
   * @throws `CORRUPT_VALUE`, `CODEC_FAILED`.
   */
  getTrajectory(traceId: string, sessionId: string, options?: CallOptions): Promise<JsonObject | null>;
  /** Returns the traces of a session, most recent first. `limit` is 1 to 10 000, default 50. */
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
  /** Makes the save idempotent. Without it, all other fields together identify the event. */
  eventId?: string;
}

/** Saves and reads planner events by trace, in order of arrival. */
export interface PlannerEventCapability {
  /**
   * Saves a planner event. Saving it again stores nothing: events are identified by `eventId` or, without one, by all
   * their fields.
   *
   * @throws `INVALID_PAYLOAD` if a member is not plain JSON, `PAYLOAD_TOO_LARGE` if the event exceeds `info.limits`.
   */
  savePlannerEvent(traceId: string, event: PlannerEvent, options?: CallOptions): Promise<void>;
  /**
   * Returns all planner events of a trace in order of arrival, or `[]` for an unknown trace.
   *
   * @throws `CORRUPT_VALUE`, `CODEC_FAILED`.
   */
  listPlannerEvents(traceId: string, options?: CallOptions): Promise<PlannerEvent[]>;
  /**
   * Yields the events that `listPlannerEvents` returns, page by page.
   *
   * @throws `CORRUPT_VALUE` after the last of the other events. `CODEC_FAILED`.
   */
  readPlannerEvents(traceId: string, options?: CallOptions): AsyncIterable<PlannerEvent>;
}

/** A session in a list. */
export interface SessionInfo {
  sessionId: string;
  /** When the first item of the session was stored. */
  createdAt: string;
  /** When the last item of the session was stored. */
  lastActiveAt: string;
}

/** The number of items that `deleteSession` removed. */
export interface SessionRemoval {
  tasks: number;
  updates: number;
  steering: number;
  trajectories: number;
  plannerEvents: number;
}

/** Lists and deletes the sessions of tasks, updates, steering events and trajectories. */
export interface SessionCapability {
  /** Returns a page of sessions in byte order of their ids: 1 to 1 000 per page, default 100. */
  listSessions(options?: PageOptions): Promise<Page<SessionInfo>>;
  /**
   * Deletes the tasks, updates, steering events and trajectories of a session, and the planner events of its traces.
   * Keeps its pauses, memory and artifacts: `admin.eraseSession` removes those too.
   */
  deleteSession(sessionId: string, options?: CallOptions): Promise<SessionRemoval>;
}

/**
 * Saves and reads everything that an agent framework persists. All calls work in the tenant of the view, or in the
 * tenant `default`. Errors that every call can throw are listed at `Store`.
 */
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
