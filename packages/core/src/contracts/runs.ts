/** Runs: an append-only event log per run. The store is the append authority: it assigns sequences and times. */
import type { CallOptions, Duration, Page, PageOptions } from './common.ts';
import type { DeleteExpiredOptions, ExpiredRuns } from './expiry.ts';
import type { RunNotice } from './notices.ts';
import type { HeldRun, ListQuarantinedOptions, QuarantinedRun } from './quarantines.ts';
import type { AppendOptions, AppendResult } from './run-appends.ts';
import type { EventDefinitions, RunEventInput, RunEventRecord } from './run-events.ts';
import type { RunDefaults, RunHandle, TypedRunHandle } from './run-handle.ts';
import type { RestoreResult, RunPart } from './run-parts.ts';
import type { RefreshedSnapshot, RunSnapshot, RunStatus } from './run-state.ts';
import type { EventSchemas } from './schemas.ts';

/** Options of calls that name a run. */
export interface RunReadOptions extends CallOptions {
  /**
   * The tenant of the run. Needed only if several tenants use the same run id: without it such a call fails with
   * `AMBIGUOUS_RUN`. A view of another tenant fails with `TENANT_MISMATCH`.
   */
  tenantId?: string;
}

/** Options of calls that can be confined to one life of a run. */
export interface RunLifeOptions extends RunReadOptions {
  /** The life of the run. If the run is in another life, the call treats it as unknown. Default: the current life. */
  life?: number;
}

/** Options of `tail`. */
export interface TailOptions extends RunLifeOptions {
  /** Returns only events after this sequence. Default 0. */
  afterSeq?: number;
  /** The number of events per page: 1 to 10 000, default 1 000. */
  limit?: number;
}

/** Options of `fetchEvents` and `readEvents`. */
export interface FetchOptions extends TailOptions {
  /** Returns only events before this sequence. Default: no bound. */
  beforeSeq?: number;
  /**
   * Which events come first. Default `oldest`. With `newest`, a page begins with the last event before `beforeSeq`;
   * pass the sequence of its last event as `beforeSeq` to continue.
   */
  order?: 'newest' | 'oldest';
}

/** Options of `forkRun`. */
export interface ForkOptions extends RunReadOptions {
  /** The id of the new run, in the same tenant. */
  toRunId: string;
  /** The sequence of the last event to copy. Default: the last event of the run. */
  atSeq?: number;
}

/** The result of `forkRun`. */
export interface ForkResult {
  tenantId: string;
  /** The id of the new run. */
  runId: string;
  forkedFrom: { runId: string; atSeq: number };
  /** The number of events that this call wrote: fewer than `atSeq` if an earlier call had written some. */
  copied: number;
}

/** A run as `listRuns` returns it, read without folding its events. */
export interface RunSummary {
  tenantId: string;
  runId: string;
  projectId: string;
  environmentId: string;
  planId: string;
  planVersion: string;
  status: RunStatus;
  lastEventSeq: number;
  /** When the first event was stored: RFC 3339. */
  createdAt: string;
  /** When the last event was stored: RFC 3339. */
  updatedAt: string;
  /** The labels of the first event. */
  labels: Record<string, string>;
  parentRunId?: string;
  /** The life of the run. Absent in its first life. */
  life?: number;
  /** When the run expires unless it receives another event: RFC 3339. Absent if it does not expire in its status. */
  expiresAt?: string;
}

/** The last sequence of a run, and a counter of changes to its stored events. */
export interface RunPosition {
  tenantId: string;
  runId: string;
  lastEventSeq: number;
  /**
   * Changes with every redaction, every restore and every new life. A copy of the events, or a state derived from them,
   * is current while both `rewrites` and `lastEventSeq` are unchanged. The values of two stores are not comparable.
   */
  rewrites: number;
  /** The life of the run. Absent in its first life. */
  life?: number;
}

/** Selects runs. A run matches if it meets all conditions. */
export interface RunFilter {
  tenantId?: string;
  projectId?: string;
  environmentId?: string;
  /** The status, or one of several. */
  status?: RunStatus | RunStatus[];
  planId?: string;
  parentRunId?: string;
  /** Labels that the run must have; it may have others. */
  labels?: Record<string, string>;
  /**
   * Selects runs by the adapter that owns them. The name of an adapter, such as `claude`, selects its runs; `any`
   * selects all runs. If absent, selects the runs that belong to no adapter, unless `labels` names an owner.
   */
  owner?: string;
  /** Created at or after this time: RFC 3339. */
  createdAfter?: string;
  /** Created before this time: RFC 3339. */
  createdBefore?: string;
  /** Last event stored at or after this time: RFC 3339. */
  updatedAfter?: string;
  /** Last event stored before this time: RFC 3339. */
  updatedBefore?: string;
}

/** Options of `listRuns`: 1 to 1 000 runs per page, default 100. */
export interface ListRunsOptions extends RunFilter, PageOptions {
  /** Which runs come first. Default `newest`. */
  order?: 'newest' | 'oldest';
  /**
   * The time by which runs are ordered: their creation, the default, or their last event. `updatedAt` needs the
   * capability `runs.listByUpdate`.
   *
   * If a run receives an event while you page, its position in the list changes. With `newest` it moves to the front:
   * it is returned once or not at all. With `oldest` it moves to the end: it is returned again with its new state, and
   * no run is missed.
   */
  orderBy?: 'createdAt' | 'updatedAt';
}

/** The result of `countRuns`. */
export interface RunCount {
  count: number;
  /** False if there may be more: `count` is then a lower bound of the number of matching runs. */
  exact: boolean;
}

/** The result of `verify`. */
export interface VerifyReport {
  runId: string;
  tenantId: string;
  /** True if the events, the summary in `listRuns` and the stored snapshot, if any, are all correct. */
  ok: boolean;
  /** The number of events that were checked. */
  events: number;
  /** The last link, in hex. Runs with the same link have the same history. */
  head: string;
  /** The life of the run. Absent in its first life. */
  life?: number;
  /** The first damaged or missing event. */
  problem?: { runSeq: number; reason: string };
  /** A field of the summary in `listRuns` that differs from the events. Absent if all are correct. */
  summary?: { field: string; rule: string };
  /** The check of the stored snapshot. Absent if none is stored, or if this store cannot decode its payloads. */
  snapshot?: SnapshotReport;
}

/** The result of comparing a stored snapshot with the events up to its sequence. */
export interface SnapshotReport {
  /** The sequence of the last event in the stored snapshot. */
  runSeq: number;
  ok: boolean;
  /** Why the snapshot is wrong. */
  problem?: string;
  /** Whether `verify` replaced a wrong snapshot with one folded from the first event. */
  resynced?: boolean;
}

/** An event of the feed over all runs. */
export interface FeedItem {
  /** Pass this as `cursor` to continue after the event. */
  cursor: string;
  event: RunEventRecord;
  /** The life of the run that the event belongs to. Absent in its first life. */
  life?: number;
  /**
   * True for an event of a run that was quarantined and then released. The feed repeats such a run from the sequence at
   * which the quarantine began. Handle the event only if its sequence follows the last one you handled of its run. You
   * have already handled events with a lower sequence. Events with a higher sequence appear again later in the feed,
   * because your cursor had not reached the quarantine yet.
   */
  released?: true;
}

/** A notice of the feed, for readers that ask for notices. */
export interface NoticeItem {
  /** Pass this as `cursor` to continue after the notice. */
  cursor: string;
  notice: RunNotice;
}

/** A page of the feed. The feed has no end: `next` continues after this page at any later time. */
export interface FeedPage<Item = FeedItem> {
  /** May be empty even if more follow, if the filter or the view excluded every event that was read. */
  items: Item[];
  /**
   * The `cursor` of the following page. Absent only while the store has no events. If it equals the `cursor` you
   * passed, you are up to date.
   */
  next?: string;
  /** Quarantined runs whose events this page skipped. Absent if there are none. */
  held?: HeldRun[];
}

/** Options of `feed` and `feedPage`. */
export interface FeedOptions extends CallOptions {
  /** The cursor of the last event you handled. Default: the beginning of the feed. */
  cursor?: string;
  /** Returns only events of this tenant and of these types. */
  filter?: { tenantId?: string; eventTypes?: string[] };
  /**
   * `skip` omits events whose payload cannot be decoded, for example because its key was destroyed. By default the feed
   * fails with `CODEC_FAILED` at such an event.
   */
  unreadable?: 'skip';
}

/** Options of `feed` and `feedPage` for readers that may also receive notices. */
export interface NoticeFeedOptions extends FeedOptions {
  /** True to receive notices between the events. Needs the capability `runs.notices`. */
  notices: boolean;
}

/**
 * Appends events to runs and reads them back.
 *
 * Every read of events verifies the hash chain and throws `CORRUPT_EVENT` instead of returning damaged data. Reads of
 * an archived run throw `RUN_ARCHIVED`; `archive` is the location. For readers, deleted runs are the same as unknown
 * runs. Errors that every call can throw are listed at `Store`.
 */
export interface RunStore {
  /**
   * Appends an event and returns its position. Only `runId` and `eventType` are required; `RunEventInput` lists the
   * values of missing fields. They are filled in once per call: a retry by `replay` or `withRetries` sends the same
   * ids.
   *
   * An event whose idempotency key is already stored in the run is a duplicate: nothing is written, and the result is
   * the position of the stored event, even if `expectedSeq` no longer matches. Without an `idempotencyKey` the store
   * derives one:
   *
   * - For the lifecycle types of runs and steps, except `RunPaused` and `RunResumed`, it derives the key from run,
   *   step, `logicalAttemptId`, type and plan. The same event sent twice is stored once.
   * - For all other types the key is the `eventId`. Every append is a new event unless it has the same `idempotencyKey`
   *   or the same `eventId` as an earlier one.
   *
   * @throws `INVALID_ARGUMENT` if a field is invalid; `errors` lists all faults of the event, at most 20.
   * `SEQ_CONFLICT` if `expectedSeq` is not the last sequence of the run, which is in `current`. `SCOPE_MISMATCH` if the
   * run belongs to another project or environment. `RUN_DELETED` or `RUN_ARCHIVED` if the run was removed. `CONFLICT`
   * if `life` has not begun, or is `new` while the run is live. `INVALID_TRANSITION` if `rejectInvalidTransitions` is
   * set and the run does not allow the event. `INVALID_PAYLOAD` if the payload is not plain JSON, `PAYLOAD_TOO_LARGE`
   * if it exceeds `info.limits`. `PROJECTION_FAILED` if a handler of `projections` throws. `OUTCOME_UNKNOWN` if the
   * event may have been stored: call `replay` with `error.write`.
   *
   * @example
   * const event = { runId: 'order-42', eventType: 'RunStarted', payload: { by: 'ada' } };
   * const first = await store.runs.appendEvent(event);
   * const again = await store.runs.appendEvent(event);
   * console.log(first.runSeq, first.persisted); // 1 true
   * console.log(again.runSeq, again.persisted); // 1 false
   * const message = { runId: 'order-42', eventType: 'UserSaid', payload: { text: 'hi' }, idempotencyKey: 'msg-7' };
   * await store.runs.appendEvent(message);
   * console.log((await store.runs.appendEvent(message)).persisted); // false
   */
  appendEvent(event: RunEventInput, options?: AppendOptions): Promise<AppendResult>;
  /**
   * Appends up to 1 000 events and returns one result per event, in the same order.
   *
   * Events of one run are stored together and in order, or not at all. Different runs are stored independently. If one
   * run is refused and another may have been written, the call fails with `OUTCOME_UNKNOWN`; `runId` and `cause` name
   * the refusal. A retry returns the results, or fails with that refusal. Keys work as in `appendEvent`.
   *
   * @throws The codes of `appendEvent`. `INVALID_ARGUMENT` if `expectedSeq` or `life` is used with events of several
   * runs.
   *
   * @example
   * const newEvent = (eventType: string) => ({ runId: 'order-42', eventType });
   * await store.runs.appendEvents([newEvent('RunStarted'), newEvent('OrderPlaced')], { expectedSeq: 0 });
   * try {
   *   await store.runs.appendEvents([newEvent('OrderPaid')], { expectedSeq: 1 });
   * } catch (error) {
   *   if (!isTidemarkError(error, 'SEQ_CONFLICT')) throw error;
   *   console.log(error.current); // 2
   * }
   */
  appendEvents(events: readonly RunEventInput[], options?: AppendOptions): Promise<AppendResult[]>;
  /**
   * Returns a page of a run's events in order of `runSeq`, or `[]` for an unknown run. With `order: 'newest'`, the last
   * events come first; they are verified like any other page.
   *
   * @throws `RUN_ARCHIVED`, `CORRUPT_EVENT`, or `CODEC_FAILED` if this store cannot decode a payload.
   *
   * @example
   * const run = store.runs.handle('order-42');
   * for (const n of [1, 2, 3]) await run.append('NoteAdded', { n });
   * const last = await store.runs.fetchEvents('order-42', { order: 'newest', limit: 2 });
   * console.log(last.map(({ runSeq }) => runSeq)); // [ 3, 2 ]
   * const before = await store.runs.fetchEvents('order-42', { order: 'newest', limit: 2, beforeSeq: 2 });
   * console.log(before.map(({ runSeq }) => runSeq)); // [ 1 ]
   */
  fetchEvents(runId: string, options?: FetchOptions): Promise<RunEventRecord[]>;
  /**
   * Yields all events that a run has now, reading page by page, the last ones first with `order: 'newest'`. Yields
   * nothing for an unknown run.
   *
   * @throws The codes of `fetchEvents`.
   */
  readEvents(runId: string, options?: FetchOptions): AsyncIterable<RunEventRecord>;
  /**
   * Yields all events of a run, then each new one when it is stored. Never skips or repeats an event.
   *
   * Waits for a run that does not exist yet. Yields the events of one life: the given life, or the life of the first
   * event that it reads. Ends without an error when `signal` aborts or the store is closed.
   *
   * @throws The codes of `fetchEvents`.
   *
   * @example
   * const run = store.runs.handle('order-42');
   * await run.append('RunStarted');
   * await run.append('RunCompleted');
   * for await (const event of store.runs.tail('order-42', { afterSeq: 1 })) {
   *   console.log(event.runSeq, event.eventType); // 2 RunCompleted
   *   if (event.eventType === 'RunCompleted') break;
   * }
   */
  tail(runId: string, options?: TailOptions): AsyncIterable<RunEventRecord>;
  /**
   * Returns the stored snapshot, which may lag behind the events, or `null` for an unknown run. If none is stored,
   * folds one and stores it. Use `projectSnapshot` for the current state.
   *
   * @throws `RUN_ARCHIVED`.
   */
  getSnapshot(runId: string, options?: RunLifeOptions): Promise<RunSnapshot | null>;
  /**
   * Returns the current snapshot, or the snapshot as it was right after `atSeq`.
   *
   * @throws `RUN_NOT_FOUND`, `RUN_ARCHIVED`, `CORRUPT_EVENT`. `INVALID_ARGUMENT` if `atSeq` is beyond the last event.
   *
   * @example
   * const run = store.runs.handle('order-42');
   * await run.append('RunStarted');
   * await run.append('RunCompleted');
   * const now = await store.runs.projectSnapshot('order-42');
   * const before = await store.runs.projectSnapshot('order-42', { atSeq: 1 });
   * console.log(now.status, before.status); // COMPLETED RUNNING
   */
  projectSnapshot(runId: string, options?: RunLifeOptions & { atSeq?: number }): Promise<RunSnapshot>;
  /**
   * Folds new events into the stored snapshot, stores the result as `FRESH` and returns it. With `full`, replaces the
   * stored snapshot with one folded from the first event.
   *
   * @throws `RUN_NOT_FOUND`, `RUN_ARCHIVED`, `CORRUPT_EVENT`.
   */
  refreshSnapshot(runId: string, options?: RunReadOptions & { full?: boolean }): Promise<RefreshedSnapshot>;
  /**
   * Marks the stored snapshot as `STALE` until it is refreshed. Returns false if none is stored.
   *
   * @throws `RUN_ARCHIVED`.
   */
  markStale(runId: string, options?: RunReadOptions): Promise<boolean>;
  /**
   * Copies the events of a run up to a sequence into a new run. The copies keep types, payloads and `emittedAt`, and
   * get new ids and keys.
   *
   * Calling it again changes nothing, or continues an interrupted fork.
   *
   * @throws `RUN_NOT_FOUND`, `RUN_ARCHIVED`. `CONFLICT` if `toRunId` exists and is not this fork. `RUN_DELETED` if
   * `toRunId` was deleted. `INVALID_ARGUMENT` if `atSeq` is beyond the last event.
   *
   * @example
   * const run = store.runs.handle('order-42');
   * await run.append('RunStarted');
   * await run.append('StepStarted', {}, { stepId: 'charge' });
   * const fork = await store.runs.forkRun('order-42', { toRunId: 'order-42-retry', atSeq: 1 });
   * console.log(fork.runId, fork.copied); // order-42-retry 1
   */
  forkRun(runId: string, options: ForkOptions): Promise<ForkResult>;
  /**
   * Returns a page of runs that match the filter, newest first by default.
   *
   * Omits runs whose summary is damaged; `listQuarantined` lists them.
   *
   * @throws `UNSUPPORTED` for `orderBy: 'updatedAt'` if the store lacks the capability `runs.listByUpdate`.
   *
   * @example
   * for (const runId of ['order-42', 'order-43']) await store.runs.handle(runId).append('RunStarted');
   * await store.runs.handle('order-42').append('OrderPaid');
   * const { items } = await store.runs.listRuns({ orderBy: 'updatedAt', limit: 1 });
   * console.log(items.length); // 1
   */
  listRuns(options?: ListRunsOptions): Promise<Page<RunSummary>>;
  /**
   * Counts the runs that match the filter, and reports whether the count is exact. One call counts at most 10 000 runs,
   * in at most half of its time limit; then `exact` is false and `count` means "at least". A run whose summary is
   * damaged is not counted, and the count is not exact.
   *
   * @example
   * await store.runs.handle('order-42').append('RunStarted');
   * await store.runs.handle('order-43').append('RunQueued');
   * console.log(await store.runs.countRuns({ status: 'RUNNING' })); // { count: 1, exact: true }
   */
  countRuns(filter?: RunFilter & CallOptions): Promise<RunCount>;
  /**
   * Returns the last sequence of a run, or 0 for an unknown run.
   *
   * @throws `RUN_ARCHIVED`.
   */
  headSeq(runId: string, options?: RunLifeOptions): Promise<number>;
  /**
   * Returns the last sequence of a run together with its `rewrites`, or `null` for an unknown run.
   *
   * @throws `RUN_ARCHIVED`.
   */
  position(runId: string, options?: RunLifeOptions): Promise<RunPosition | null>;
  /**
   * Recomputes the hash chain of a run, compares its stored snapshot and its summary in `listRuns` with the events, and
   * reports the first problem. Damage is reported, not thrown.
   *
   * Replaces a wrong snapshot and quarantines a damaged run. If the last events are lost together with the head,
   * nothing in the run shows the loss. Only a process that has seen the later head can report it, with the alert
   * `HEAD_WENT_BACK`.
   *
   * @throws `RUN_NOT_FOUND`, `RUN_ARCHIVED`.
   *
   * @example
   * await store.runs.handle('order-42').append('RunStarted');
   * const { ok, events, problem } = await store.runs.verify('order-42');
   * console.log(ok, events, problem); // true 1 undefined
   */
  verify(runId: string, options?: RunReadOptions): Promise<VerifyReport>;
  /** Returns a page of quarantined runs, or with `state` also of released ones. */
  listQuarantined(options?: ListQuarantinedOptions): Promise<Page<QuarantinedRun>>;
  /**
   * Releases a quarantined run after it was repaired. Verifies the run from its first event. Every feed then returns
   * its events from `fromSeq` onwards, in order and marked `released`. A run that is already released is returned
   * unchanged.
   *
   * @throws `CORRUPT_EVENT` while the run is still damaged: it stays quarantined. `NOT_FOUND` if it was never
   * quarantined. `RUN_NOT_FOUND` if the run no longer exists.
   */
  releaseRun(runId: string, options?: RunReadOptions): Promise<QuarantinedRun>;
  /**
   * Deletes a run and returns whether it existed. A tombstone stays, so that late appends fail with `RUN_DELETED`. An
   * append with `life: 'new'` begins the next life of the run. With `life`, deletes only that life.
   *
   * @throws `SEQ_CONFLICT` if `expectedSeq` is given and is not the last sequence of the run.
   */
  deleteRun(runId: string, options?: RunLifeOptions & { expectedSeq?: number }): Promise<boolean>;
  /**
   * Deletes expired runs and returns how many. Each leaves a tombstone, as after `deleteRun`. A run that receives an
   * event in the meantime stays, unless it had expired before.
   *
   * One call deletes at most `limit` runs, default 100, and takes at most half of its time limit. Pass `next` as `cursor`
   * to continue. Several processes may call it at once. To readers and writers a run is deleted from the moment it
   * expires; this call frees its storage. A process that has used expiring runs also does this every quarter of an hour.
   *
   * @example
   * const run = store.runs.handle('order-42', { expires: '1ms' });
   * await run.append('RunStarted');
   * await run.append('RunCompleted');
   * await new Promise((resolve) => setTimeout(resolve, 20));
   * console.log(await run.headSeq()); // 0
   * console.log(await store.runs.deleteExpired()); // { deleted: 1 }
   */
  deleteExpired(options?: DeleteExpiredOptions): Promise<ExpiredRuns>;
  /**
   * Yields a run as it is now, in parts of up to 1 000 events. Verifies the events as it reads them. `restoreRun` takes
   * the parts.
   *
   * @throws `RUN_NOT_FOUND`, `RUN_ARCHIVED`, `CORRUPT_EVENT`.
   */
  exportRun(runId: string, options?: RunReadOptions): AsyncIterable<RunPart>;
  /**
   * Restores an exported run under its own tenant and id, with the same sequences, times and links. Checks each part
   * before it writes it.
   *
   * A retry continues an interrupted restore. The run is not readable until the last part is stored. Restored events
   * obey the limits and rules of appended ones. With `keepEncoded`, encoded payloads are stored without decoding them,
   * for copies in stores that do not have the keys. Reading such payloads fails with `CODEC_FAILED`.
   *
   * @throws `CONFLICT` if a different run with that id exists, the run has grown since the export, or a later life of
   * the run has begun. `RUN_DELETED` if it was deleted, unless `overDeleted` is set. `INVALID_ARGUMENT` for parts that
   * are malformed, incomplete or out of order, and for times more than 5 minutes ahead of the store's clock.
   * `CORRUPT_EVENT` if an event does not match the chain. `INVALID_PAYLOAD` if this store's codec cannot decode a
   * payload.
   */
  restoreRun(
    parts: AsyncIterable<RunPart> | Iterable<RunPart>,
    options?: CallOptions & { overDeleted?: boolean; keepEncoded?: boolean },
  ): Promise<RestoreResult>;
  /**
   * Removes a run that was exported to an archive, and returns whether it existed. Later calls fail with `RUN_ARCHIVED`
   * and the `location`. Use `restoreRun` to restore it.
   *
   * Pass the `lastEventSeq` and `rewrites` of the export: the call then fails if the run has changed since. Without
   * `expectedRewrites`, a payload that was redacted after the export would survive in the archive.
   *
   * @throws `SEQ_CONFLICT` if `expectedSeq` is not the last sequence. `CONFLICT` if `expectedRewrites` is not the
   * `rewrites` of the run. `RUN_ARCHIVED` while the run is being restored.
   *
   * @example
   * await store.runs.handle('order-42').append('RunCompleted');
   * const parts = await Array.fromAsync(store.runs.exportRun('order-42'));
   * // Store the parts in the archive before the next line removes the run.
   * const { lastEventSeq, rewrites } = parts[0]!.run;
   * const location = 's3://archive/order-42.json';
   * await store.runs.archiveRun('order-42', { location, expectedSeq: lastEventSeq, expectedRewrites: rewrites });
   * console.log(await store.runs.archiveLocation('order-42')); // s3://archive/order-42.json
   * await store.runs.restoreRun(parts);
   */
  archiveRun(
    runId: string,
    options: RunReadOptions & { location: string; expectedSeq: number; expectedRewrites?: number },
  ): Promise<boolean>;
  /** Returns the location of an archived run, or `null` for any other run. */
  archiveLocation(runId: string, options?: RunReadOptions): Promise<string | null>;
  /**
   * Permanently removes the payload of an event, including from the stored snapshot and projection states, and returns
   * whether the event exists. The chain stays valid. The event records who redacted it, when and why; a second
   * redaction does not change that.
   *
   * @throws `UNSUPPORTED` if the store lacks the capability `runs.redaction`. `CORRUPT_EVENT` if the event is damaged.
   */
  redactEvent(
    runId: string,
    runSeq: number,
    options: RunReadOptions & { by: string; reason: string },
  ): Promise<boolean>;
  /**
   * Yields events and notices. Notices report changes of whole runs and of stored events. A notice follows the events
   * it concerns; `restored` and `released` precede the events that the feed yields again. A notice may be repeated. The
   * filter `eventTypes` applies only to events. A cursor from a feed with notices also works without notices, and vice
   * versa.
   *
   * @throws The codes of the overload without notices. `UNSUPPORTED` if the store lacks the capability `runs.notices`.
   *
   * @example
   * const run = store.runs.handle('order-42');
   * await run.append('RunStarted');
   * await store.runs.deleteRun('order-42');
   * for await (const item of store.runs.feed({ notices: true })) {
   *   if ('event' in item) continue;
   *   console.log(item.notice.kind, item.notice.runId); // deleted order-42
   *   break;
   * }
   */
  feed(options: NoticeFeedOptions): AsyncIterable<FeedItem | NoticeItem>;
  /**
   * Yields the events of all runs, then each new one. Events of one run are in order. Skips quarantined runs.
   *
   * Store the `cursor` of the last item you handled, and pass it to continue. Ends without an error when `signal`
   * aborts or the store is closed.
   *
   * @throws `INVALID_ARGUMENT` if `cursor` is malformed. `CODEC_FAILED` if a payload cannot be decoded and `unreadable`
   * is not `skip`. `TENANT_MISMATCH` if the filter of a view names another tenant.
   *
   * @example
   * await store.runs.handle('order-42').append('RunStarted');
   * await store.runs.handle('order-43').append('RunStarted');
   * let cursor: string | undefined;
   * for await (const item of store.runs.feed({ filter: { eventTypes: ['RunStarted'] } })) {
   *   cursor = item.cursor;
   *   console.log(item.event.runId); // order-42
   *   break;
   * }
   * for await (const item of store.runs.feed({ cursor })) {
   *   console.log(item.event.runId); // order-43
   *   break;
   * }
   */
  feed(options?: FeedOptions): AsyncIterable<FeedItem>;
  /**
   * Returns a page of events and notices, at most `limit` together.
   *
   * @throws The codes of `feed`.
   */
  feedPage(options: NoticeFeedOptions & { limit?: number; wait?: Duration }): Promise<FeedPage<FeedItem | NoticeItem>>;
  /**
   * Returns a page of the feed. Reads up to `limit` events: 1 to 10 000, default 1 000.
   *
   * Returns at once by default. With `wait`, at most 60 s, it returns an empty page only if no event was stored for
   * that long.
   *
   * @throws The codes of `feed`.
   *
   * @example
   * await store.runs.handle('order-42').append('RunStarted');
   * let cursor: string | undefined;
   * for (;;) {
   *   const { items, next } = await store.runs.feedPage({ cursor, limit: 100 });
   *   for (const { event } of items) console.log(event.runId, event.eventType); // order-42 RunStarted
   *   if (next === cursor) break; // Up to date: pass `wait` to wait for more.
   *   cursor = next;
   * }
   */
  feedPage(options?: FeedOptions & { limit?: number; wait?: Duration }): Promise<FeedPage>;
  /**
   * Returns a handle for one run, which fills in the fields that every event of the run shares. With `events`, types
   * and payloads are typed, and payloads are checked against their schemas.
   *
   * Reads and writes nothing itself. Ids that are not given default to `default`, and `planVersion` to `1`.
   *
   * @example
   * const run = store.runs.handle('order-42', { planId: 'checkout', labels: { shop: 'berlin' } });
   * await run.append('RunStarted', { by: 'ada' });
   * await run.append('StepStarted', {}, { stepId: 'charge' });
   * await run.append('OrderPlaced', { cents: 1299 }, { idempotencyKey: 'order-42-placed' });
   * console.log(await run.headSeq(), (await run.snapshot()).status); // 3 RUNNING
   */
  handle<S extends EventSchemas>(
    runId: string,
    defaults: RunDefaults & { events: EventDefinitions<S> },
  ): TypedRunHandle<S>;
  handle(runId: string, defaults?: RunDefaults): RunHandle;
}
