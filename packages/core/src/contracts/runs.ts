/** Runs: an append-only event log per run, with the store as its append authority (documents 004, 001). */
import type { CallOptions, Duration, Page, PageOptions } from './common.ts';
import type { HeldRun, ListQuarantinedOptions, QuarantinedRun } from './quarantines.ts';
import type { AppendOptions, AppendResult } from './run-appends.ts';
import type { EventDefinitions, RunEventInput, RunEventRecord } from './run-events.ts';
import type { RunDefaults, RunHandle, TypedRunHandle } from './run-handle.ts';
import type { RestoreResult, RunPart } from './run-parts.ts';
import type { RefreshedSnapshot, RunSnapshot, RunStatus } from './run-state.ts';
import type { EventSchemas } from './schemas.ts';

/** Options of reads that name a run. */
export interface RunReadOptions extends CallOptions {
  /** Whose run it is; needed only where several tenants use the same run id (GEN-10). */
  tenantId?: string;
}

/** Options of `fetchEvents`. */
export interface FetchOptions extends RunReadOptions {
  /** Only events after this sequence. Default 0. */
  afterSeq?: number;
  /** 1 to 10 000, default 1 000. */
  limit?: number;
}

/** Options of `forkRun`. */
export interface ForkOptions extends RunReadOptions {
  /** The id of the new run, in the same tenant. */
  toRunId: string;
  /** The last event to copy. Default: all there are. */
  atSeq?: number;
}

/** What `forkRun` gives. */
export interface ForkResult {
  tenantId: string;
  runId: string;
  forkedFrom: { runId: string; atSeq: number };
  /** How many events this call wrote; fewer than `atSeq` when an earlier call had written some. */
  copied: number;
}

/** A run in a list, known without folding its events. */
export interface RunSummary {
  tenantId: string;
  runId: string;
  projectId: string;
  environmentId: string;
  planId: string;
  planVersion: string;
  status: RunStatus;
  lastEventSeq: number;
  /** When the first and the last event were stored. */
  createdAt: string;
  updatedAt: string;
  labels: Record<string, string>;
  parentRunId?: string;
}

/** How far a run is, and whether its stored events were changed. */
export interface RunPosition {
  tenantId: string;
  runId: string;
  lastEventSeq: number;
  /**
   * Moves whenever stored events change: with every redaction and every restore. Copies and states that were made from
   * the events are current while both this and `lastEventSeq` stand. The numbers of two stores are not comparable.
   */
  rewrites: number;
}

/** Which runs to list; all given conditions hold together. */
export interface RunFilter {
  tenantId?: string;
  projectId?: string;
  environmentId?: string;
  status?: RunStatus | RunStatus[];
  planId?: string;
  parentRunId?: string;
  labels?: Record<string, string>;
  /** Created at or after, before: RFC 3339. */
  createdAfter?: string;
  createdBefore?: string;
  updatedAfter?: string;
  updatedBefore?: string;
}

/** Options of `listRuns`: 1 to 1 000 runs a page, default 100, newest first. */
export interface ListRunsOptions extends RunFilter, PageOptions {
  order?: 'newest' | 'oldest';
}

/** What `verify` found (RUN-17). */
export interface VerifyReport {
  runId: string;
  tenantId: string;
  /** Whether the events, what `listRuns` shows of the run and, where one is stored, the snapshot are as they were stored. */
  ok: boolean;
  /** How many events were checked. */
  events: number;
  /** Hex of the last link; equal heads mean equal histories. */
  head: string;
  /** The first thing that is wrong with the events. */
  problem?: { runSeq: number; reason: string };
  /** A field that `listRuns` shows and that is not what the events say; absent where all are right. */
  summary?: { field: string; rule: string };
  /** The stored snapshot; absent where none is stored, or its payloads cannot be decoded here. */
  snapshot?: SnapshotReport;
}

/** What `verify` found when it compared the stored snapshot with the events up to its sequence. */
export interface SnapshotReport {
  /** The last event of the stored snapshot. */
  runSeq: number;
  ok: boolean;
  /** Why it cannot be used. */
  problem?: string;
  /** Whether `verify` replaced a wrong snapshot with one that was folded from the first event. */
  resynced?: boolean;
}

/** An event of the feed over all runs, with the cursor that continues after it. */
export interface FeedItem {
  cursor: string;
  event: RunEventRecord;
  /**
   * True for an event of a run that was quarantined and released: it comes again from where the quarantine began. Handle it
   * only when its sequence follows the last one you handled of its run. A lower one you have; a higher one comes later
   * in the feed itself, since you had not come to the quarantine yet.
   */
  released?: true;
}

/** A page of the feed. It has no end: `next` continues after it at any later time. */
export interface FeedPage {
  /** May be empty although more follows, where a filter or a view left nothing of the events looked at. */
  items: FeedItem[];
  /** The `after` of the following page; absent only while the store has no events. The same as before: caught up. */
  next?: string;
  /** Quarantined runs whose events this page passed over; absent when there are none. */
  held?: HeldRun[];
}

/** Options of `feed`. */
export interface FeedOptions extends CallOptions {
  /** The cursor of the last event seen; absent: from the beginning. */
  cursor?: string;
  /** Only these. */
  filter?: { tenantId?: string; eventTypes?: string[] };
  /** `skip` passes over events that cannot be decoded, such as those of a key that was destroyed. Default: `CODEC_FAILED`. */
  unreadable?: 'skip';
}

/** The append authority and the reads around it. */
export interface RunStore {
  /** Stores an event and tells its place. A key that is there already gives the stored event's place (RUN-4). */
  appendEvent(event: RunEventInput, options?: AppendOptions): Promise<AppendResult>;
  /**
   * Appends up to 1 000 events and returns one result per input. Those of one run are stored together and in order; runs
   * are stored apart from each other. Where one run is refused and another may have been written, the call fails with
   * `OUTCOME_UNKNOWN`; sent again it returns the results, or the refusal of that run.
   */
  appendEvents(events: readonly RunEventInput[], options?: AppendOptions): Promise<AppendResult[]>;
  /** A page of a run's events in `runSeq` order; `[]` for an unknown run (RUN-12). */
  fetchEvents(runId: string, options?: FetchOptions): Promise<RunEventRecord[]>;
  /** All events of a run up to now, page by page. */
  readEvents(runId: string, options?: FetchOptions): AsyncIterable<RunEventRecord>;
  /** All events of a run, then each new one as it is stored, until aborted. Never skips, never repeats. */
  tail(runId: string, options?: FetchOptions): AsyncIterable<RunEventRecord>;
  /** The stored snapshot, which may lag; `null` for an unknown run (RUN-13). */
  getSnapshot(runId: string, options?: RunReadOptions): Promise<RunSnapshot | null>;
  /** The current snapshot, or the one at `atSeq`. An unknown run is `RUN_NOT_FOUND`. */
  projectSnapshot(runId: string, options?: RunReadOptions & { atSeq?: number }): Promise<RunSnapshot>;
  /**
   * Folds what is new into the stored snapshot and stores it, fresh. With `full` the stored snapshot is replaced by one that is
   * folded from the first event. An unknown run is `RUN_NOT_FOUND`.
   */
  refreshSnapshot(runId: string, options?: RunReadOptions & { full?: boolean }): Promise<RefreshedSnapshot>;
  /** Makes the stored snapshot `STALE` until it is refreshed (RUN-14). Tells whether there is one. */
  markStale(runId: string, options?: RunReadOptions): Promise<boolean>;
  /**
   * Makes a new run of another's events up to a sequence: same types, payloads and times, ids and keys of its own.
   * The same fork again changes nothing, and continues one that was interrupted; a run of that id that is anything
   * else is `CONFLICT`.
   */
  forkRun(runId: string, options: ForkOptions): Promise<ForkResult>;
  listRuns(options?: ListRunsOptions): Promise<Page<RunSummary>>;
  /** The last sequence of a run, 0 if unknown. */
  headSeq(runId: string, options?: RunReadOptions): Promise<number>;
  /** Returns the last sequence of a run together with its `rewrites`; `null` if unknown. */
  position(runId: string, options?: RunReadOptions): Promise<RunPosition | null>;
  /**
   * Recomputes the hash chain of a run, compares the stored snapshot and what `listRuns` shows of the run with the events, and
   * reports the first thing that is wrong. A wrong snapshot is replaced. A tail that was lost together with the head leaves no trace in the run: only a
   * reader that saw the later head can report it, as `HEAD_WENT_BACK`.
   */
  verify(runId: string, options?: RunReadOptions): Promise<VerifyReport>;
  /** Returns a page of the runs that are quarantined, or were until they were released. */
  listQuarantined(options?: ListQuarantinedOptions): Promise<Page<QuarantinedRun>>;
  /**
   * Releases a quarantined run after it was repaired. Reads it from its first event; then every feed returns its events
   * from `fromSeq` on, in order and marked `released`. A run that was released already is returned as it is.
   *
   * @throws `CORRUPT_EVENT` while the run is still damaged: it stays quarantined. `NOT_FOUND` when it was never
   * quarantined. `RUN_NOT_FOUND` when there is no such run any more.
   */
  releaseRun(runId: string, options?: RunReadOptions): Promise<QuarantinedRun>;
  /**
   * Removes a whole run; a tombstone refuses late retries with `RUN_DELETED`. With `expectedSeq` only while that is its last
   * sequence, else `SEQ_CONFLICT`. Tells whether there was one.
   */
  deleteRun(runId: string, options?: RunReadOptions & { expectedSeq?: number }): Promise<boolean>;
  /** A run with all it has now, in parts of up to 1 000 events, verified as they are read. `RUN_NOT_FOUND` if unknown. */
  exportRun(runId: string, options?: RunReadOptions): AsyncIterable<RunPart>;
  /**
   * Puts an exported run back under its own tenant and id: same sequences, times and links, checked before anything is
   * written. Sent again, or after a crash, it goes on where it was; until the last part the run is not readable. Over
   * a run that is there and is another, or has grown, it is `CONFLICT`; over a deleted one `RUN_DELETED` unless
   * `overDeleted`.
   *
   * Restored events obey the limits and rules of appended ones. Times more than 5 minutes ahead of the store's clock are refused with
   * `INVALID_ARGUMENT`, and payloads that this store's codec cannot decode with `INVALID_PAYLOAD`. With `keepEncoded` encoded payloads are
   * kept unread, for copies in stores without the keys: reading them fails with `CODEC_FAILED`.
   */
  restoreRun(
    parts: AsyncIterable<RunPart> | Iterable<RunPart>,
    options?: CallOptions & { overDeleted?: boolean; keepEncoded?: boolean },
  ): Promise<RestoreResult>;
  /**
   * Removes a whole run that lies safe elsewhere, if `expectedSeq` is still its last sequence, else `SEQ_CONFLICT`, and if
   * `expectedRewrites`, the `rewrites` of the export, is still the run's, else `CONFLICT`: a payload that was redacted since must not live on in
   * the archive. Later calls fail with `RUN_ARCHIVED` and the location. Returns whether there was such a run.
   */
  archiveRun(
    runId: string,
    options: RunReadOptions & { location: string; expectedSeq: number; expectedRewrites?: number },
  ): Promise<boolean>;
  /** Where an archived run lies; `null` for any other. */
  archiveLocation(runId: string, options?: RunReadOptions): Promise<string | null>;
  /**
   * Takes the payload out of an event for good, and out of the stored snapshot; the chain stays valid and the event
   * tells who did it, when and why. The first redaction stays. Tells whether there is such an event.
   */
  redactEvent(
    runId: string,
    runSeq: number,
    options: RunReadOptions & { by: string; reason: string },
  ): Promise<boolean>;
  /** All events of all runs, per-run order kept, then each new one, until aborted. */
  feed(options?: FeedOptions): AsyncIterable<FeedItem>;
  /**
   * A page of the feed: what is there now, looking at 1 to 10 000 events, default 1 000. With `wait`, up to 60 s, an
   * empty page is given only after nothing has come for so long; the call may then take that much longer.
   */
  feedPage(options?: FeedOptions & { limit?: number; wait?: Duration }): Promise<FeedPage>;
  /** One run with the envelope filled in; with `events`, names and payloads are typed and checked. */
  handle<S extends EventSchemas>(
    runId: string,
    defaults: RunDefaults & { events: EventDefinitions<S> },
  ): TypedRunHandle<S>;
  handle(runId: string, defaults?: RunDefaults): RunHandle;
}
