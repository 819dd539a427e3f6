/**
 * The port an agent engine implements, one small group per capability so that they can be composed. Bodies are
 * JSON text the store in `agents/` has already checked; the engine keeps, orders and de-duplicates them.
 */
import type { PauseInfo, RemoteBinding, SessionInfo, SessionRemoval } from '../contracts/agents.ts';
import type { EngineCall } from './call.ts';

/** A flow event; `id` is the caller's event id or the fingerprint of all fields. */
export interface FlowEventRow {
  traceId: string | null;
  id: string;
  ts: number;
  kind: string;
  nodeName: string | null;
  nodeId: string | null;
  /** The caller's own event id, when there was one. */
  eventId: string | null;
  payload: string;
}

export interface EventEngine {
  /** Those whose (trace, id) is stored already are left as they are. */
  append(tenantId: string, rows: readonly FlowEventRow[], call: EngineCall): Promise<void>;
  /** All events of a trace by (ts, insertion), in pages. */
  read(tenantId: string, traceId: string | null, call: EngineCall): AsyncIterable<FlowEventRow[]>;
}

export interface BindingEngine {
  save(tenantId: string, binding: RemoteBinding, call: EngineCall): Promise<void>;
  list(tenantId: string, traceId: string, call: EngineCall): Promise<RemoteBinding[]>;
}

/** A pause on its way in; the id is the hash of its token. */
export interface PauseRow {
  pauseId: string;
  payload: string;
  ttlMs: number;
  sessionId: string | null;
  taskId: string | null;
  reason: string | null;
}

export interface PauseEngine {
  /** `consumed` when the token was used and has not expired: nothing is written. */
  save(tenantId: string, pause: PauseRow, call: EngineCall): Promise<'saved' | 'consumed'>;
  /** Payload and end of the lease for the one claimer that wins; the same claim id wins again. */
  claim(
    tenantId: string,
    pauseId: string,
    claim: { claimId: string; leaseMs: number },
    call: EngineCall,
  ): Promise<{ payload: string; leaseUntil: number } | null>;
  /** Consumes at once; the same claim id hears the payload again until the pause would have expired. */
  consume(tenantId: string, pauseId: string, claimId: string, call: EngineCall): Promise<string | null>;
  /** Ends a claim: consumed for good, or given back. False when the claim is not the current one. */
  settle(
    tenantId: string,
    pauseId: string,
    claimId: string,
    as: 'consumed' | 'waiting',
    call: EngineCall,
  ): Promise<boolean>;
  /**
   * Leaves a pause consumed until it would have expired, whether there is one or not; false when it is claimed at the
   * moment, because its claimer may be resuming.
   */
  bury(tenantId: string, pause: Omit<PauseRow, 'payload'>, call: EngineCall): Promise<boolean>;
  peek(tenantId: string, pauseId: string, call: EngineCall): Promise<PauseInfo | null>;
  /** Of one that waits: what it holds, consuming nothing. */
  payload(tenantId: string, pauseId: string, call: EngineCall): Promise<string | null>;
  /** Unexpired pauses by id. */
  list(
    tenantId: string,
    range: { after: string | null; limit: number; sessionId: string | null },
    call: EngineCall,
  ): Promise<PauseInfo[]>;
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
  /** Also keys whose state was deleted, while their version is remembered. */
  withDeleted?: boolean;
}

/** A change of a memory state, under the id that a retry of it has too. */
export interface MemoryChange {
  key: string;
  /** 0 for one that must be absent, `null` for any. */
  expectedVersion: number | null;
  requestId: string;
  /** The request id was made for this very call, so that nothing can have been answered under it. */
  requestIsNew: boolean;
}

export interface MemoryEngine {
  /** Versions go on from the last one, also after a delete, for at least a day. */
  save(
    tenantId: string,
    memory: MemoryChange & { state: string },
    call: EngineCall,
  ): Promise<{ saved: boolean; version: number }>;
  load(tenantId: string, key: string, call: EngineCall): Promise<MemoryRow | null>;
  /** By key in byte order. */
  list(tenantId: string, range: MemoryRange, call: EngineCall): Promise<Omit<MemoryRow, 'state'>[]>;
  /** Removes it, with `expectedVersion` only at that version; `version` is what stood there, 0 for none. */
  delete(tenantId: string, memory: MemoryChange, call: EngineCall): Promise<{ deleted: boolean; version: number }>;
  /** Physically removes a state with all that is remembered of its key; tells whether there was one. */
  erase(tenantId: string, key: string, call: EngineCall): Promise<boolean>;
  /** Physically removes up to `limit` of what is left of states that were deleted long ago; gives how many. */
  removeExpired(limit: number, call: EngineCall): Promise<number>;
}

/** A task; `createdAt` and `updatedAt` are milliseconds for ordering, `body` holds everything. */
export interface TaskRow {
  sessionId: string;
  taskId: string;
  status: string;
  createdAt: number;
  updatedAt: number;
  body: string;
}

export interface TaskEngine {
  /** Keeps the stored one if it is newer. */
  save(tenantId: string, task: TaskRow, call: EngineCall): Promise<void>;
  /** By (createdAt, first save), in pages of bodies. */
  read(tenantId: string, sessionId: string, call: EngineCall): AsyncIterable<string[]>;
}

/** An update or steering event of a session. */
export interface SessionItem {
  sessionId: string;
  taskId: string;
  id: string;
  body: string;
}

/** Updates, or steering: an ordered list per session with unique ids. */
export interface SessionLogEngine {
  /** The first write of an id wins. */
  append(tenantId: string, item: SessionItem, call: EngineCall): Promise<void>;
  /** The oldest items after the cursor, of one task if given. */
  page(
    tenantId: string,
    sessionId: string,
    range: { taskId: string | null; sinceId: string | null; limit: number },
    call: EngineCall,
  ): Promise<{ items: { id: string; body: string }[]; cursorFound: boolean }>;
  /** Waits for something new in a session. A hint: it may end early, and may be missed. */
  wait(tenantId: string, sessionId: string, call: EngineCall): Promise<void>;
}

export interface TrajectoryEngine {
  save(
    tenantId: string,
    trajectory: { traceId: string; sessionId: string; body: string },
    call: EngineCall,
  ): Promise<'saved' | 'other-session'>;
  get(tenantId: string, traceId: string, sessionId: string, call: EngineCall): Promise<string | null>;
  /** Most recently saved first. */
  list(tenantId: string, sessionId: string, limit: number, call: EngineCall): Promise<string[]>;
}

export interface PlannerEventEngine {
  /** The first write of an id wins. */
  append(tenantId: string, traceId: string, event: { id: string; body: string }, call: EngineCall): Promise<void>;
  /** In order of arrival, in pages of bodies. */
  read(tenantId: string, traceId: string, call: EngineCall): AsyncIterable<string[]>;
}

export interface SessionEngine {
  list(tenantId: string, range: { after: string | null; limit: number }, call: EngineCall): Promise<SessionInfo[]>;
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
