/**
 * The port of a run engine. The store in `runs/` validates, encodes and hashes before it calls the engine, and verifies
 * and decodes afterwards. The engine orders, de-duplicates and stores.
 */
import type { BodyField, EventFieldsAs, StoredField } from '../contracts/event-fields.ts';
import type { NoticeKind } from '../contracts/notices.ts';
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
    EventFieldsAs<Exclude<StoredField, BodyField | 'redaction' | 'chainFormat' | 'life'>, EngineValues> {
  /** Set when the payload was redacted. */
  redaction?: StoredRedaction;
  /** The format of the chain in the event's commit. Absent for format 1. */
  chainFormat?: number | undefined;
  /** The life of the run. Absent for life 1. */
  life?: number | undefined;
}

/**
 * The end of a commit: the values that the links of the run's next commit cover. Any stored event has these members.
 */
export type CommitEnd = Pick<StoredRunEvent, 'link' | 'persistedAt'>;

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
  /** How many times a run with this id has begun (RUN-18). */
  life: number;
  /**
   * Increases whenever stored events change: by one with each redaction, and to a value above all earlier ones with
   * each restore and each new life. A snapshot, archive or projection that was derived under another value is outdated
   * (RUN-15).
   */
  rewrites: number;
  /**
   * When the run would have expired without its last commit (RUN-21). A commit stored later does not bring the run back.
   * Only on keyed engines, where the journal sets the time of a commit after it was planned. Absent if the run could not
   * expire.
   */
  notAfter?: number | undefined;
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
  /** The life that was removed. Absent for life 1. */
  life?: number;
  /**
   * The `eventId` of the first event of the removed life. A late retry of the append that began this life contains this
   * event, and must not begin another life.
   */
  begunBy?: string;
  /** The `rewrites` of the removed run, on engines that read it together with the tombstone. */
  rewrites?: number;
  /** While restoring: hex of the last link the run will have, so that parts of another run are refused. */
  head?: string;
}

/** Events of one caller for one run: all are written, or none. */
export interface RunAppend {
  run: RunKey;
  events: PreparedEvent[];
  expectedSeq?: number;
  /** The life that the events belong to; `new` begins the next one of a deleted run (RUN-18). Absent means life 1. */
  life?: number | 'new';
  /** Labels of the first event, used when the run is new. */
  labels: Record<string, string>;
  parentRunId: string | null;
  /** Only for engines with the capability `runs.inlineProjections`. */
  sameCommit?: SameCommitWrites;
}

/**
 * Records of the run's tenant to write in the transaction of an append. Once the events are placed, the engine reads
 * the records, calls `writes` and applies the result; then it commits everything or nothing. An append without new
 * events does not change the records. If another writer changes a record first, the engine starts again.
 */
export interface SameCommitWrites {
  names: readonly RecordName[];
  /** Returns the writes. A thrown error rolls back the append and becomes its outcome. */
  writes(
    placed: readonly SequencedEvent[],
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
export interface SequencedEvent {
  runSeq: number;
  persistedAt: number;
  /** The life of the run. Absent for life 1. */
  life?: number;
  /** The stored event when its key was already stored. */
  duplicateOf: StoredRunEvent | null;
}

/** A slice of a run's log, with the data needed to verify its first link. */
export interface LogPage {
  events: StoredRunEvent[];
  /** The events that precede the first one in its commit. */
  lead: StoredRunEvent[];
  /** The end of the previous commit; `null` at the start of the run. */
  before: CommitEnd | null;
}

/** A feed event. `before` is the end of the previous commit of the run; `null` for its first commit. */
export interface IntactEntry {
  cursor: string;
  run: RunKey;
  event: StoredRunEvent;
  before: CommitEnd | null;
}

/** A feed event that the engine cannot decode: its run is damaged. The page continues after it. */
export interface DamagedEntry {
  cursor: string;
  run: RunKey;
  runSeq: number;
  /** The reason, for humans to read. */
  damage: string;
}

/** A notice that the engine stored together with the change that it reports (RUN-22). */
export interface NoticeEntry {
  cursor: string;
  run: RunKey;
  notice: StoredNotice;
}

/**
 * The stored part of a notice. Quarantines and releases are not stored as notices, because their entries have numbers.
 */
export interface StoredNotice {
  kind: Exclude<NoticeKind, 'quarantined' | 'released'>;
  runSeq?: number;
  /** The life of the run. Absent for life 1. */
  life?: number | undefined;
}

export type FeedEntry = IntactEntry | DamagedEntry | NoticeEntry;

export function isDamaged(entry: FeedEntry): entry is DamagedEntry {
  return 'damage' in entry;
}

export function isNotice(entry: FeedEntry): entry is NoticeEntry {
  return 'notice' in entry;
}

/** A stored snapshot: the JSON text of a `RunSnapshot` and the run's state when it was folded. */
export interface StoredSnapshot {
  lastEventSeq: number;
  /** The run's `rewrites`, read before its first event. When the head has another value, the snapshot is outdated. */
  rewrites: number;
  body: string;
}

export interface RunQuery
  extends Omit<RunFilter, 'status' | 'owner' | 'createdAfter' | 'createdBefore' | 'updatedAfter' | 'updatedBefore'> {
  /** Only runs without this label. */
  withoutLabel?: string;
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

/** A list of runs by (updatedAt, tenantId, runId). */
export interface UpdatedRunsQuery extends Omit<RunQuery, 'after'> {
  /** The last run of the previous page, with its `updatedAt` at that time. */
  after?: { updatedAt: number; tenantId: string; runId: string };
}

/** The append authority of one backend. */
export interface RunEngine {
  /** Stores which runs are quarantined. Removing or restoring a run must remove its entry. */
  readonly quarantines: QuarantineEngine;
  /**
   * Appends events. Returns one outcome per append, in order: the positions of its events, or the error that kept all
   * of them from being written.
   */
  append(
    appends: readonly RunAppend[],
    options: EngineCall & { transaction?: unknown },
  ): Promise<(SequencedEvent[] | Error)[]>;
  /** Returns up to `limit` events of a run after a sequence, in order. */
  fetch(run: RunKey, afterSeq: number, limit: number, call: EngineCall): Promise<LogPage>;
  /** Returns the clock by which this engine sets the times of a tenant's events, in milliseconds. */
  now(tenantId: string, call: EngineCall): Promise<number>;
  /** Returns a run's head, its tombstone when it was removed, or `null` for an unknown run. */
  head(run: RunKey, call: EngineCall): Promise<RunHead | RunTombstone | null>;
  /** Returns tenants that have a run with this id. Two tenants are enough to know that the id is ambiguous. */
  tenantsOf(runId: string, call: EngineCall): Promise<string[]>;
  /**
   * Lists runs by (createdAt, tenantId, runId), newest or oldest first. A run whose head cannot be decoded is omitted
   * and passed to `onDamaged`, so that it does not fail the list.
   */
  list(query: RunQuery, call: EngineCall, onDamaged?: (head: DamagedHead) => void): Promise<RunHead[]>;
  /**
   * Lists runs by (updatedAt, tenantId, runId), like `list`. Only for engines with the capability `runs.listByUpdate`,
   * which have an index for it.
   */
  listByUpdate?(query: UpdatedRunsQuery, call: EngineCall, onDamaged?: (head: DamagedHead) => void): Promise<RunHead[]>;
  /** Returns the stored snapshot, outdated or not. Snapshots may be kept in another store than the run. */
  loadSnapshot(run: RunKey, call: EngineCall): Promise<StoredSnapshot | null>;
  /**
   * Stores a snapshot and returns whether it did. Keeps the stored one if its `rewrites` is higher, or equal with a
   * higher sequence; at the same sequence the later call wins, so that a mark can be set. An engine that can read the
   * run in the same step stores nothing when the run is gone or has another `rewrites`; callers check the head
   * afterwards and remove a snapshot that was stored too late.
   *
   * With `over`, writes only if the stored snapshot is `over`, or if there is none for `null`. Otherwise a snapshot
   * derived from a wrong one could be stored after the wrong one was removed.
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
   * Removes events and snapshot and leaves the tombstone. Returns false for an unknown run. Throws `SEQ_CONFLICT` if
   * `expectedSeq` is set and is not the last sequence, and `CONFLICT` if `expectedRewrites` is set and is not the run's
   * `rewrites`. A tombstone of kind `deleted` also ends an unfinished restore.
   */
  remove(run: RunKey, tombstone: RunTombstone, options: RemoveRunOptions): Promise<boolean>;
  /**
   * Restores events exactly as they were: sequences, times, commits, links. Until the last part, the run is a tombstone
   * of kind `restoring` that keeps the previous location in `archive`. Skips events that are already stored, so that
   * any part can be retried. Once all events are stored they pass through the feed again, and the run's `rewrites`
   * becomes higher than the value in the part and every value that the run had in this store.
   *
   * If the store has a live run with the same head, nothing is done; for any other live run, throws `CONFLICT`. If the
   * run was deleted, throws `RUN_DELETED` unless `overDeleted` is set.
   */
  restore(run: RunKey, part: RestoredPart, options: EngineCall & { overDeleted?: boolean }): Promise<void>;
  /**
   * Removes the payload of an event, stores the redaction and increases `rewrites`, in one step. The first redaction of
   * an event stays. Returns false for an unknown event.
   */
  redact(run: RunKey, runSeq: number, redaction: StoredRedaction, call: EngineCall): Promise<boolean>;
  /**
   * Returns up to `limit` events of all runs in the order of commits, after a cursor; `null` starts at the first. With
   * `notices`, also returns the notices stored between them. A cursor from a read with notices also works without
   * notices, and vice versa.
   */
  feed(after: string | null, limit: number, call: EngineCall, notices?: boolean): Promise<FeedEntry[]>;
  /** Waits for new events of one run, or of any. A hint: it may resolve early, and a missed hint only adds latency. */
  waitForEvents(run: RunKey | null, call: EngineCall): Promise<void>;
}

export function isTombstone(head: RunHead | RunTombstone | null): head is RunTombstone {
  return head !== null && 'kind' in head;
}
