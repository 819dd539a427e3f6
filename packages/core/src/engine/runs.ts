/**
 * The port a run engine implements. The store in `runs/` validates, encodes and hashes before it calls the
 * engine, and verifies and decodes after; the engine orders, de-duplicates and keeps.
 */
import type { BodyField, EventFieldsAs, StoredField } from '../contracts/event-fields.ts';
import type { RunStatus } from '../contracts/run-state.ts';
import type { RunFilter } from '../contracts/runs.ts';
import type { Digest } from '../hash.ts';
import type { EngineCall } from './call.ts';
import type { QuarantineEngine } from './quarantines.ts';
import type { RecordName, RecordWrite, StoredRecord } from './records.ts';
import type { RunKey } from './run-key.ts';

/** The values of an event as engines take and keep them: objects as JSON text, times of the store in milliseconds. */
interface EngineValues {
  uuid: string;
  id: string;
  time: string;
  integer: number;
  object: string;
  instant: number;
  digest: Digest;
}

/** What an event's leaf is computed from, besides its run (RUN-17). */
export interface EventBody extends EventFieldsAs<BodyField, EngineValues> {}

/** A validated event on its way in. */
export interface PreparedEvent extends EventBody {
  leaf: Digest;
}

/** An event as an engine keeps it. */
export interface StoredRunEvent
  extends EventBody,
    EventFieldsAs<Exclude<StoredField, BodyField | 'redaction'>, EngineValues> {
  /** Set when the payload was taken out. */
  redaction?: StoredRedaction;
}

/** What stays of a payload that was taken out: its hash, so that the chain still holds, and who did it. */
export interface StoredRedaction {
  /** Hex SHA-256 of the payload's JSON text. */
  payloadHash: string;
  /** Milliseconds. */
  at: number;
  by: string;
  reason: string;
}

/** A part of a run that is put back; parts come in order, from the first event to the last. */
export interface RestoredPart {
  /** As the run was: of its last event. */
  head: RunHead;
  events: readonly StoredRunEvent[];
  /** With it the run is there again. */
  isLast: boolean;
}

/** What an engine keeps of a run besides its events. */
export interface RunHead extends RunKey {
  projectId: string;
  environmentId: string;
  planId: string;
  planVersion: string;
  /** `null` before the first event that sets one. */
  status: RunStatus | null;
  seq: number;
  link: Digest;
  createdAt: number;
  updatedAt: number;
  labels: Record<string, string>;
  parentRunId: string | null;
  /**
   * Moves whenever stored events change: by one with each redaction, and past every earlier value with each restore. What
   * was made from the events (a snapshot, an archive, a projection) is outdated when it knew another value (RUN-15).
   */
  rewrites: number;
}

/** A run whose head cannot be decoded. */
export interface DamagedHead {
  run: RunKey;
  /** The last sequence, where it can be known. */
  seq: number | null;
}

/** What stays of a run that was removed (RUN-15). */
export interface RunTombstone {
  /** `restoring`: its events are being put back, and nobody sees them yet. */
  kind: 'archived' | 'deleted' | 'restoring';
  at: number;
  archive?: string;
  /** Of a run that is being restored: hex of the last link it will have, so that nobody mixes another one in. */
  head?: string;
}

/** Events of one caller for one run: all are written or none. */
export interface RunAppend {
  run: RunKey;
  events: PreparedEvent[];
  expectedSeq?: number;
  /** From the first event, for a run that is new. */
  labels: Record<string, string>;
  parentRunId: string | null;
  /** Only for engines that can `runs.inlineProjections`. */
  sameCommit?: SameCommitWrites;
}

/**
 * Records of the run's tenant that are written in the transaction of an append: once its events are in place the engine
 * reads them, asks for the writes and takes them, and then all of it is committed or nothing is. An append that has
 * nothing new to write leaves them alone; where another writer wins a race for a record, the engine begins again.
 */
export interface SameCommitWrites {
  names: readonly RecordName[];
  /** An error that is thrown undoes the append and becomes its outcome. */
  writes(
    placed: readonly PlacedEvent[],
    found: readonly (StoredRecord | null)[],
    log: OpenLog,
  ): RecordWrite[] | Promise<RecordWrite[]>;
}

/** The log of a run as the transaction of an append sees it. */
export interface OpenLog {
  /** Of the run's head, which nobody else can move until the transaction ends. */
  rewrites: number;
  read(afterSeq: number, limit: number): StoredRunEvent[] | Promise<StoredRunEvent[]>;
}

/** Which state of a run a removal is meant for. */
export interface RemoveRunOptions extends EngineCall {
  expectedSeq?: number;
  expectedRewrites?: number;
}

/** Where an event of an append stands. */
export interface PlacedEvent {
  runSeq: number;
  persistedAt: number;
  /** The stored event when the key was there already. */
  duplicateOf: StoredRunEvent | null;
}

/** A slice of a run's log, with what is needed to check its first link. */
export interface LogPage {
  events: StoredRunEvent[];
  /** Events of the first one's commit that come before it. */
  lead: StoredRunEvent[];
  /** The link before that commit. */
  linkBefore: Digest;
}

/** An event of the feed; `linkBefore` is the link before its commit. */
export interface IntactEntry {
  cursor: string;
  run: RunKey;
  event: StoredRunEvent;
  linkBefore: Digest;
}

/** An event of the feed that the engine cannot decode: its run is damaged, and the page goes on. */
export interface DamagedEntry {
  cursor: string;
  run: RunKey;
  runSeq: number;
  /** Why, in words. */
  damage: string;
}

export type FeedEntry = IntactEntry | DamagedEntry;

export function isDamaged(entry: FeedEntry): entry is DamagedEntry {
  return 'damage' in entry;
}

/** A stored snapshot: the JSON text of a `RunSnapshot`, and what its fold knew of the run. */
export interface StoredSnapshot {
  lastEventSeq: number;
  /** The run's `rewrites`, read before the first event was. A snapshot of another value than the head's is outdated. */
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
  /** The run the previous page ended with. */
  after?: { createdAt: number; tenantId: string; runId: string };
  limit: number;
}

/** The append authority of one backend. */
export interface RunEngine {
  /** Which runs are quarantined. Removing or restoring a run removes its entry. */
  readonly quarantines: QuarantineEngine;
  /** One outcome per append, in order: where its events stand, or why none of them was written. */
  append(
    appends: readonly RunAppend[],
    options: EngineCall & { transaction?: unknown },
  ): Promise<(PlacedEvent[] | Error)[]>;
  fetch(run: RunKey, afterSeq: number, limit: number, call: EngineCall): Promise<LogPage>;
  head(run: RunKey, call: EngineCall): Promise<RunHead | RunTombstone | null>;
  /** Tenants that have a run of this id; two are enough to know that it is ambiguous. */
  tenantsOf(runId: string, call: EngineCall): Promise<string[]>;
  /**
   * Runs ordered by (createdAt, tenantId, runId), newest or oldest first. A run whose head cannot be decoded is left out
   * and passed to `onDamaged`, so that it does not stop the list.
   */
  list(query: RunQuery, call: EngineCall, onDamaged?: (head: DamagedHead) => void): Promise<RunHead[]>;
  /** The stored snapshot, outdated or not. Snapshots may be kept in another store than the run. */
  loadSnapshot(run: RunKey, call: EngineCall): Promise<StoredSnapshot | null>;
  /**
   * Keeps the stored one if its `rewrites` is higher, or the same and its sequence is higher; at the same sequence the
   * later call wins, so that a mark can be set. An engine that can look at the run in the same step stores nothing when
   * the run is gone or its `rewrites` is another; callers look at the head afterwards and drop what came too late.
   * With `over` it also keeps a stored one that is not exactly that snapshot, and with `null` any stored one: what was
   * folded on from a wrong snapshot must not come back after that one was dropped. Returns whether it stored.
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
   * Removes events and snapshot and leaves the tombstone; false for an unknown run. With `expectedSeq` only while that is
   * its last sequence, else `SEQ_CONFLICT`; with `expectedRewrites` only while that is its `rewrites`, else `CONFLICT`. A
   * tombstone of the kind `deleted` also ends a restore that was begun.
   */
  remove(run: RunKey, tombstone: RunTombstone, options: RemoveRunOptions): Promise<boolean>;
  /**
   * Puts events back exactly as they were: sequences, times, commits, links. Until the last part the run is a tombstone
   * of the kind `restoring` that keeps what was there in `archive`; events that are there already are left as they are,
   * so that any part can be sent again. Over a live run it is `CONFLICT`, unless that run has the same head: then
   * nothing is done; over a deleted one `RUN_DELETED` unless `overDeleted`. The events pass through the feed again, once
   * all are there, and the run's `rewrites` moves past that of the part and every value it had here.
   */
  restore(run: RunKey, part: RestoredPart, options: EngineCall & { overDeleted?: boolean }): Promise<void>;
  /**
   * Takes the payload out of an event, leaves the redaction and moves `rewrites`, in one step; the first redaction of an
   * event stays. False for an unknown event.
   */
  redact(run: RunKey, runSeq: number, redaction: StoredRedaction, call: EngineCall): Promise<boolean>;
  feed(after: string | null, limit: number, call: EngineCall): Promise<FeedEntry[]>;
  /** Waits for something new: of a run, or of any. Ends early without harm; a missed hint costs latency only. */
  waitForEvents(run: RunKey | null, call: EngineCall): Promise<void>;
}

export function isTombstone(head: RunHead | RunTombstone | null): head is RunTombstone {
  return head !== null && 'kind' in head;
}
