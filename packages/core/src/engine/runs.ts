/**
 * The port of a run engine. The store in `runs/` validates, encodes and hashes before it calls the engine, and verifies
 * and decodes afterwards. The engine orders, de-duplicates and stores.
 */
import type { BodyField, EventFieldsAs, StoredField } from '../contracts/event-fields.ts';
import type { RunStatus } from '../contracts/run-state.ts';
import type { RunFilter } from '../contracts/runs.ts';
import type { Digest } from '../hash.ts';
import type { EngineCall } from './call.ts';
import type { QuarantineEngine } from './quarantines.ts';
import type { RecordName, RecordWrite, StoredRecord } from './records.ts';
import type { RunKey } from './run-key.ts';

/** Types of event fields inside engines: objects are JSON text, the store's own times are milliseconds. */
interface EngineValues {
  uuid: string;
  id: string;
  time: string;
  integer: number;
  object: string;
  instant: number;
  digest: Digest;
}

/** The fields that an event's leaf is computed from, besides its run (RUN-17). */
export interface EventBody extends EventFieldsAs<BodyField, EngineValues> {}

/** A validated event to append. */
export interface PreparedEvent extends EventBody {
  leaf: Digest;
}

/** A stored event. */
export interface StoredRunEvent
  extends EventBody,
    EventFieldsAs<Exclude<StoredField, BodyField | 'redaction'>, EngineValues> {
  /** Set when the payload was redacted. */
  redaction?: StoredRedaction;
}

/** A redaction: who removed the payload, and the payload's hash, with which the chain still verifies. */
export interface StoredRedaction {
  /** Hex SHA-256 of the payload's JSON text. */
  payloadHash: string;
  /** Milliseconds. */
  at: number;
  by: string;
  reason: string;
}

/** A part of a run to restore. Parts come in order, from the first event to the last. */
export interface RestoredPart {
  /** The head of the whole run, as of its last event. */
  head: RunHead;
  events: readonly StoredRunEvent[];
  /** The last part makes the run visible. */
  isLast: boolean;
}

/** A run's stored state, apart from its events. */
export interface RunHead extends RunKey {
  projectId: string;
  environmentId: string;
  planId: string;
  planVersion: string;
  /** `null` before the first event that sets a status. */
  status: RunStatus | null;
  seq: number;
  link: Digest;
  createdAt: number;
  updatedAt: number;
  labels: Record<string, string>;
  parentRunId: string | null;
  /**
   * Increases whenever stored events change: by one with each redaction, and past every earlier value with each
   * restore. Anything derived from the events (a snapshot, an archive, a projection) under another value is outdated
   * (RUN-15).
   */
  rewrites: number;
}

/** A run whose head cannot be decoded. */
export interface DamagedHead {
  run: RunKey;
  /** The last sequence, if known. */
  seq: number | null;
}

/** The remains of a removed run (RUN-15). */
export interface RunTombstone {
  /** `restoring`: the events are being restored and are not visible yet. */
  kind: 'archived' | 'deleted' | 'restoring';
  at: number;
  archive?: string;
  /** While restoring: hex of the last link the run will have, so that parts of another run are refused. */
  head?: string;
}

/** Events of one caller for one run: all are written, or none. */
export interface RunAppend {
  run: RunKey;
  events: PreparedEvent[];
  expectedSeq?: number;
  /** Labels of the first event, used when the run is new. */
  labels: Record<string, string>;
  parentRunId: string | null;
  /** Only for engines with the capability `runs.inlineProjections`. */
  sameCommit?: SameCommitWrites;
}

/**
 * Records of the run's tenant to write in the transaction of an append. Once the events are placed, the engine reads
 * the records, calls `writes` and applies the result; then it commits everything or nothing. An append without new
 * events leaves the records alone. When another writer wins a race for a record, the engine starts again.
 */
export interface SameCommitWrites {
  names: readonly RecordName[];
  /** Returns the writes. A thrown error undoes the append and becomes its outcome. */
  writes(
    placed: readonly PlacedEvent[],
    found: readonly (StoredRecord | null)[],
    log: OpenLog,
  ): RecordWrite[] | Promise<RecordWrite[]>;
}

/** A run's log as seen by the transaction of an append. */
export interface OpenLog {
  /** `rewrites` of the run's head, which cannot change until the transaction ends. */
  rewrites: number;
  read(afterSeq: number, limit: number): StoredRunEvent[] | Promise<StoredRunEvent[]>;
}

/** The state of a run that a removal requires. */
export interface RemoveRunOptions extends EngineCall {
  expectedSeq?: number;
  expectedRewrites?: number;
}

/** The position of an appended event. */
export interface PlacedEvent {
  runSeq: number;
  persistedAt: number;
  /** The stored event when its key was already stored. */
  duplicateOf: StoredRunEvent | null;
}

/** A slice of a run's log, with the data needed to verify its first link. */
export interface LogPage {
  events: StoredRunEvent[];
  /** The events that precede the first one in its commit. */
  lead: StoredRunEvent[];
  /** The link before that commit. */
  linkBefore: Digest;
}

/** A feed event. `linkBefore` is the link before its commit. */
export interface IntactEntry {
  cursor: string;
  run: RunKey;
  event: StoredRunEvent;
  linkBefore: Digest;
}

/** A feed event that the engine cannot decode: its run is damaged. The page continues after it. */
export interface DamagedEntry {
  cursor: string;
  run: RunKey;
  runSeq: number;
  /** The reason, for people. */
  damage: string;
}

export type FeedEntry = IntactEntry | DamagedEntry;

export function isDamaged(entry: FeedEntry): entry is DamagedEntry {
  return 'damage' in entry;
}

/** A stored snapshot: the JSON text of a `RunSnapshot` and the run's state when it was folded. */
export interface StoredSnapshot {
  lastEventSeq: number;
  /** The run's `rewrites`, read before its first event. When the head has another value, the snapshot is outdated. */
  rewrites: number;
  body: string;
}

export interface RunQuery
  extends Omit<RunFilter, 'status' | 'createdAfter' | 'createdBefore' | 'updatedAfter' | 'updatedBefore'> {
  statuses?: readonly RunStatus[];
  createdAfter?: number;
  createdBefore?: number;
  updatedAfter?: number;
  updatedBefore?: number;
  order: 'newest' | 'oldest';
  /** The last run of the previous page. */
  after?: { createdAt: number; tenantId: string; runId: string };
  limit: number;
}

/** The append authority of one backend. */
export interface RunEngine {
  /** Stores which runs are quarantined. Removing or restoring a run must remove its entry. */
  readonly quarantines: QuarantineEngine;
  /** Appends events. Returns one outcome per append, in order: the positions of its events, or why none was written. */
  append(
    appends: readonly RunAppend[],
    options: EngineCall & { transaction?: unknown },
  ): Promise<(PlacedEvent[] | Error)[]>;
  /** Returns up to `limit` events of a run after a sequence, in order. */
  fetch(run: RunKey, afterSeq: number, limit: number, call: EngineCall): Promise<LogPage>;
  /** Returns a run's head, its tombstone when it was removed, or `null` for an unknown run. */
  head(run: RunKey, call: EngineCall): Promise<RunHead | RunTombstone | null>;
  /** Returns tenants that have a run with this id. Two are enough to know that it is ambiguous. */
  tenantsOf(runId: string, call: EngineCall): Promise<string[]>;
  /**
   * Lists runs by (createdAt, tenantId, runId), newest or oldest first. A run whose head cannot be decoded is left out
   * and passed to `onDamaged`, so that it does not fail the list.
   */
  list(query: RunQuery, call: EngineCall, onDamaged?: (head: DamagedHead) => void): Promise<RunHead[]>;
  /** Returns the stored snapshot, outdated or not. Snapshots may be kept in another store than the run. */
  loadSnapshot(run: RunKey, call: EngineCall): Promise<StoredSnapshot | null>;
  /**
   * Stores a snapshot and returns whether it did. Keeps the stored one if its `rewrites` is higher, or equal with a
   * higher sequence; at the same sequence the later call wins, so that a mark can be set. An engine that can read the
   * run in the same step stores nothing when the run is gone or has another `rewrites`; callers check the head
   * afterwards and drop a snapshot that came too late.
   *
   * With `over`, also keeps a stored snapshot other than `over`, with `null` any stored one. A snapshot folded on from
   * a wrong one must not come back after the wrong one was dropped.
   */
  saveSnapshot(
    run: RunKey,
    snapshot: StoredSnapshot & { status: RunStatus },
    call: EngineCall,
    over?: StoredSnapshot | null,
  ): Promise<boolean>;
  /** Removes the stored snapshot unless its `rewrites` is higher than this. */
  dropSnapshot(run: RunKey, upToRewrites: number, call: EngineCall): Promise<void>;
  /**
   * Removes events and snapshot and leaves the tombstone. Returns false for an unknown run. With `expectedSeq`, removes
   * only while that is its last sequence, else throws `SEQ_CONFLICT`. With `expectedRewrites`, removes only while that
   * is its `rewrites`, else throws `CONFLICT`. A tombstone of kind `deleted` also ends an unfinished restore.
   */
  remove(run: RunKey, tombstone: RunTombstone, options: RemoveRunOptions): Promise<boolean>;
  /**
   * Restores events exactly as they were: sequences, times, commits, links. Until the last part, the run is a tombstone
   * of kind `restoring` that keeps the previous location in `archive`. Skips events that are already stored, so that
   * any part can be retried. Once all events are stored they pass through the feed again, and the run's `rewrites`
   * moves past that of the part and every value it had here.
   *
   * Over a live run with the same head it does nothing; over any other live run it throws `CONFLICT`. Over a deleted
   * run it throws `RUN_DELETED` unless `overDeleted` is set.
   */
  restore(run: RunKey, part: RestoredPart, options: EngineCall & { overDeleted?: boolean }): Promise<void>;
  /**
   * Removes the payload of an event, stores the redaction and moves `rewrites`, in one step. The first redaction of an
   * event stays. Returns false for an unknown event.
   */
  redact(run: RunKey, runSeq: number, redaction: StoredRedaction, call: EngineCall): Promise<boolean>;
  /** Returns up to `limit` events of all runs in the order of commits, after a cursor; `null` starts at the first. */
  feed(after: string | null, limit: number, call: EngineCall): Promise<FeedEntry[]>;
  /** Waits for new events of one run, or of any. A hint: it may resolve early, and a missed hint only adds latency. */
  waitForEvents(run: RunKey | null, call: EngineCall): Promise<void>;
}

export function isTombstone(head: RunHead | RunTombstone | null): head is RunTombstone {
  return head !== null && 'kind' in head;
}
