/**
 * The port of an agent engine: one small interface per capability, so that they can be composed. Bodies are JSON text
 * that the store in `agents/` has already checked. The engine stores, orders and de-duplicates them.
 */
import type { BindingKey, PauseInfo, SessionInfo, SessionRemoval } from '../contracts/agents.ts';
import type { EngineCall } from './call.ts';

/** A flow event. `id` is the caller's event id, or the fingerprint of all fields. */
export interface FlowEventRow {
  traceId: string | null;
  id: string;
  ts: number;
  kind: string;
  nodeName: string | null;
  nodeId: string | null;
  /** The caller's own event id, if any. */
  eventId: string | null;
  payload: string;
}

export interface EventEngine {
  /** Appends events. Skips those whose (trace, id) is already stored. */
  append(tenantId: string, rows: readonly FlowEventRow[], call: EngineCall): Promise<void>;
  /** Yields all events of a trace in pages, ordered by (ts, insertion). */
  read(tenantId: string, traceId: string | null, call: EngineCall): AsyncIterable<FlowEventRow[]>;
}

/** A remote binding. */
export interface BindingRow extends BindingKey {
  agentUrl: string;
  routerSessionId: string | null;
  /** `null` if the caller did not set it. The binding is then not terminal. */
  isTerminal: boolean | null;
  /** The other members as an encoded document; `null` if there are none. */
  details: string | null;
}

export interface BindingEngine {
  /** Saves a binding. The last save of a (trace, context, task) wins. */
  save(tenantId: string, binding: BindingRow, call: EngineCall): Promise<void>;
  /** Lists the bindings of a trace. */
  list(tenantId: string, traceId: string, call: EngineCall): Promise<BindingRow[]>;
  /** Yields the bindings of a router's session in pages, most recently updated first. */
  readSession(tenantId: string, routerSessionId: string, call: EngineCall): AsyncIterable<BindingRow[]>;
  /**
   * Marks a binding as terminal, which counts as an update, and changes nothing else. Does not change a binding that is
   * already terminal. Returns whether the binding exists.
   */
  markTerminal(tenantId: string, binding: BindingKey, call: EngineCall): Promise<boolean>;
}

/** A pause to save. Its id is the hash of its token. */
export interface PauseRow {
  pauseId: string;
  payload: string;
  ttlMs: number;
  sessionId: string | null;
  taskId: string | null;
  reason: string | null;
}

export interface PauseEngine {
  /** Saves a pause. Returns `consumed` and writes nothing when the token was consumed and has not expired. */
  save(tenantId: string, pause: PauseRow, call: EngineCall): Promise<'saved' | 'consumed'>;
  /** Claims a pause for one claimer; others get `null`. The same claim id succeeds again. */
  claim(
    tenantId: string,
    pauseId: string,
    claim: { claimId: string; leaseMs: number },
    call: EngineCall,
  ): Promise<{ payload: string; leaseUntil: number } | null>;
  /** Consumes a pause at once. The same claim id gets the payload again until the pause would have expired. */
  consume(tenantId: string, pauseId: string, claimId: string, call: EngineCall): Promise<string | null>;
  /**
   * Ends a claim: the pause is consumed permanently, or waits again. Returns false unless the claim is the current one.
   */
  settle(
    tenantId: string,
    pauseId: string,
    claimId: string,
    as: 'consumed' | 'waiting',
    call: EngineCall,
  ): Promise<boolean>;
  /**
   * Marks a pause as consumed until it would have expired, even if it was never saved. Returns false while it is
   * claimed, because a program may be resuming it.
   */
  bury(tenantId: string, pause: Omit<PauseRow, 'payload'>, call: EngineCall): Promise<boolean>;
  /** Returns the metadata of an unexpired pause, or `null`. */
  peek(tenantId: string, pauseId: string, call: EngineCall): Promise<PauseInfo | null>;
  /** Returns the payload of a waiting pause without consuming it. */
  payload(tenantId: string, pauseId: string, call: EngineCall): Promise<string | null>;
  /** Lists unexpired pauses by id. */
  list(
    tenantId: string,
    range: { after: string | null; limit: number; sessionId: string | null },
    call: EngineCall,
  ): Promise<PauseInfo[]>;
  /** Physically removes up to `limit` expired pauses. Returns how many it removed. */
  removeExpired(limit: number, call: EngineCall): Promise<number>;
}

export interface MemoryRow {
  key: string;
  state: string;
  version: number;
  updatedAt: number;
}

export interface MemoryRange {
  prefix: string;
  after: string | null;
  limit: number;
  /** Includes keys whose state was deleted, while their version is remembered. */
  withDeleted?: boolean;
}

/** A change of a memory state. Retries carry the same request id. */
export interface MemoryChange {
  key: string;
  /** 0 means that the state must be absent; `null` matches any version. */
  expectedVersion: number | null;
  requestId: string;
  /** The request id was generated for this call, so no outcome can be stored under it. */
  requestIsNew: boolean;
}

export interface MemoryEngine {
  /** Saves a state. Versions continue from the last one for at least a day, even after a delete. */
  save(
    tenantId: string,
    memory: MemoryChange & { state: string },
    call: EngineCall,
  ): Promise<{ saved: boolean; version: number }>;
  /** Returns a state, or `null` when it is absent or deleted. */
  load(tenantId: string, key: string, call: EngineCall): Promise<MemoryRow | null>;
  /** Lists states by key in byte order. */
  list(tenantId: string, range: MemoryRange, call: EngineCall): Promise<Omit<MemoryRow, 'state'>[]>;
  /** Removes a state, with `expectedVersion` only at that version. Returns the version found, 0 when it was absent. */
  delete(tenantId: string, memory: MemoryChange, call: EngineCall): Promise<{ deleted: boolean; version: number }>;
  /** Physically removes a state and everything remembered about its key. Returns whether there was one. */
  erase(tenantId: string, key: string, call: EngineCall): Promise<boolean>;
  /** Physically removes up to `limit` remains of states deleted long ago. Returns how many it removed. */
  removeExpired(limit: number, call: EngineCall): Promise<number>;
}

/** A task. `createdAt` and `updatedAt` are milliseconds used for ordering; `body` holds all fields. */
export interface TaskRow {
  sessionId: string;
  taskId: string;
  status: string;
  createdAt: number;
  updatedAt: number;
  body: string;
}

export interface TaskEngine {
  /** Saves a task, unless the stored one is newer. */
  save(tenantId: string, task: TaskRow, call: EngineCall): Promise<void>;
  /** Yields the bodies of a session's tasks in pages, ordered by (createdAt, first save). */
  read(tenantId: string, sessionId: string, call: EngineCall): AsyncIterable<string[]>;
}

/** An update or steering event of a session. */
export interface SessionItem {
  sessionId: string;
  taskId: string;
  id: string;
  body: string;
}

/** The updates or the steering of sessions: one ordered list per session, with unique ids. */
export interface SessionLogEngine {
  /** Appends an item. The first write of an id wins. */
  append(tenantId: string, item: SessionItem, call: EngineCall): Promise<void>;
  /** Returns the oldest items after the cursor. If `taskId` is set, returns only the items of that task. */
  page(
    tenantId: string,
    sessionId: string,
    range: { taskId: string | null; sinceId: string | null; limit: number },
    call: EngineCall,
  ): Promise<{ items: { id: string; body: string }[]; cursorFound: boolean }>;
  /** Waits for a new item in a session. Only a hint: it may resolve early and may miss an item. */
  wait(tenantId: string, sessionId: string, call: EngineCall): Promise<void>;
}

export interface TrajectoryEngine {
  /** Saves a trajectory. Returns `other-session` and writes nothing when the trace belongs to another session. */
  save(
    tenantId: string,
    trajectory: { traceId: string; sessionId: string; body: string },
    call: EngineCall,
  ): Promise<'saved' | 'other-session'>;
  /** Returns the trajectory of a trace, or `null` unless the trace belongs to this session. */
  get(tenantId: string, traceId: string, sessionId: string, call: EngineCall): Promise<string | null>;
  /** Lists the traces of a session, most recently saved first. */
  list(tenantId: string, sessionId: string, limit: number, call: EngineCall): Promise<string[]>;
}

export interface PlannerEventEngine {
  /** Appends an event. The first write of an id wins. */
  append(tenantId: string, traceId: string, event: { id: string; body: string }, call: EngineCall): Promise<void>;
  /** Yields bodies in pages, in order of arrival. */
  read(tenantId: string, traceId: string, call: EngineCall): AsyncIterable<string[]>;
}

export interface SessionEngine {
  /** Lists sessions by id, after a given one. */
  list(tenantId: string, range: { after: string | null; limit: number }, call: EngineCall): Promise<SessionInfo[]>;
  /** Removes a session with its tasks, updates, steering, trajectories and planner events. Returns the counts. */
  remove(tenantId: string, sessionId: string, call: EngineCall): Promise<SessionRemoval>;
}

export interface AgentEngine {
  events: EventEngine;
  bindings: BindingEngine;
  pauses: PauseEngine;
  memory: MemoryEngine;
  tasks: TaskEngine;
  updates: SessionLogEngine;
  steering: SessionLogEngine;
  trajectories: TrajectoryEngine;
  plannerEvents: PlannerEventEngine;
  sessions: SessionEngine;
}
