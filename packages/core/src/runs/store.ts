/** The run store of every backend: validates and hashes before the engine, verifies and decodes after it. */

import { checkOptionalLife, isOfLife, laterLife } from '../checks/life.ts';
import { checkInteger, checkLimit } from '../checks/numbers.ts';
import { refuseOldNames } from '../checks/renamed.ts';
import { checkId, checkOptionalBoolean, checkText } from '../checks/text.ts';
import type { CallOptions, Duration } from '../contracts/common.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { DeleteExpiredOptions, ExpiredRuns } from '../contracts/expiry.ts';
import type { ListQuarantinedOptions, QuarantinedRun } from '../contracts/quarantines.ts';
import type { AppendOptions, AppendResult } from '../contracts/run-appends.ts';
import type { EventDefinitions, RunEventInput, RunEventRecord } from '../contracts/run-events.ts';
import type { RunDefaults, RunHandle, TypedRunHandle } from '../contracts/run-handle.ts';
import type { RunPart } from '../contracts/run-parts.ts';
import type { RefreshedSnapshot } from '../contracts/run-state.ts';
import type {
  FeedItem,
  FeedOptions,
  FeedPage,
  FetchOptions,
  ForkOptions,
  ListRunsOptions,
  NoticeFeedOptions,
  NoticeItem,
  RunFilter,
  RunLifeOptions,
  RunPosition,
  RunReadOptions,
  RunStore,
  TailOptions,
  VerifyReport,
} from '../contracts/runs.ts';
import type { EventSchemas } from '../contracts/schemas.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RunEngine } from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import type { StoreContext } from '../tools/context.ts';
import { follow } from '../tools/live.ts';
import { withCalls } from '../tools/with-calls.ts';
import { EventAppender, type InlineAppends } from './appender.ts';
import { checkEventRange, checkTail, type EventRange, rangeAfter } from './event-range.ts';
import { deleteExpired, deleteIfExpired, hidingExpired, isExpired } from './expiring.ts';
import { exportParts } from './export.ts';
import { FeedReader } from './feed.ts';
import { fetchRange } from './fetch-range.ts';
import { forkRun } from './fork.ts';
import { createHandle, type HandleDefaults } from './handle.ts';
import { watchHeads } from './head-watch.ts';
import { countRuns, createdPosition, listRuns } from './list.ts';
import { RunLookup } from './lookup.ts';
import { recordOf } from './prepare.ts';
import { Quarantine } from './quarantine.ts';
import { checkRedaction, redactEvent, redactionUnsupported } from './redaction.ts';
import { archiveLife, deleteLife } from './removal.ts';
import { type RestoreOptions, restoreParts } from './restore.ts';
import { SnapshotReader } from './snapshots.ts';
import { checkTenant, type RunView, runNotFound } from './view.ts';

const MAX_BATCH = 1_000;
const DEFAULT_FETCH = 1_000;
const MAX_FETCH = 10_000;
const MAX_LOCATION_BYTES = 2_048;

/** Features that only some engines support. */
export interface RunAbilities {
  canRedact: boolean;
  canNotice: boolean;
  canListByUpdate: boolean;
  inlineAppends: InlineAppends;
  /** Removes the projection states of a run, if this store keeps them. */
  dropStates(run: RunKey, call: EngineCall): Promise<void>;
}

const NO_ABILITIES: RunAbilities = {
  canRedact: false,
  canNotice: false,
  canListByUpdate: false,
  inlineAppends: () => null,
  dropStates: async () => {},
};

export class Runs implements RunStore {
  readonly #context: StoreContext;
  readonly #engine: RunEngine;
  /** The engine as readers see it: an expired run is deleted. */
  readonly #visible: RunEngine;
  readonly #view: RunView;
  readonly #abilities: RunAbilities;
  readonly #lookup: RunLookup;
  readonly #snapshots: SnapshotReader;
  readonly #appender: EventAppender;
  readonly #quarantine: Quarantine;
  readonly #feed: FeedReader;

  constructor(context: StoreContext, engine: RunEngine, view: RunView, abilities: RunAbilities = NO_ABILITIES) {
    const watched = context.hasListener ? withCalls(engine, watchHeads(context, engine)) : engine;
    this.#context = context;
    const visible = hidingExpired(watched, context.expiry);
    this.#engine = watched;
    this.#visible = visible;
    this.#view = view;
    this.#abilities = abilities;
    this.#lookup = new RunLookup(visible, view);
    this.#snapshots = new SnapshotReader(context, visible);
    this.#appender = new EventAppender(context, watched, view, this.#snapshots, abilities.inlineAppends);
    this.#quarantine = new Quarantine(context, watched, this.#snapshots);
    this.#feed = new FeedReader(context, watched, view, this.#quarantine, abilities.canNotice);
  }

  appendEvent(input: RunEventInput, options?: AppendOptions): Promise<AppendResult> {
    return this.#appender.appendOne(input, options);
  }

  async appendEvents(inputs: readonly RunEventInput[], options?: AppendOptions): Promise<AppendResult[]> {
    if (!Array.isArray(inputs)) throw invalidArgument('events', 'an array of events', inputs);
    if (inputs.length > MAX_BATCH) throw invalidArgument('events', `at most ${MAX_BATCH} events`, inputs.length);
    if (inputs.length === 0) return [];
    return this.#appender.append(inputs, options);
  }

  async fetchEvents(runId: string, options?: FetchOptions): Promise<RunEventRecord[]> {
    const range = checkEventRange(runId, options);
    return this.#context.read(options, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      return run ? (await this.#fetch(run, range, call)).events : [];
    });
  }

  /** Reads a page and returns it with its life. Returns no events if the range is confined to another life. */
  async #fetch(run: RunKey, range: EventRange, call: EngineCall): Promise<{ events: RunEventRecord[]; life: number }> {
    const events = await fetchRange(this.#visible, run, range, call);
    const life = events[0]?.life ?? 1;
    if (!isOfLife(life, range.life)) return { events: [], life };
    return { events: events.map((event) => recordOf(this.#context.payloads, run, event)), life };
  }

  async *readEvents(runId: string, options?: FetchOptions): AsyncIterable<RunEventRecord> {
    for (let range: EventRange | null = checkEventRange(runId, options); range; ) {
      const page: EventRange = range;
      const { events, life } = await this.#context.read(options, async (call) => {
        const run = await this.#lookup.find(runId, options, call);
        return run ? this.#fetch(run, page, call) : { events: [], life: 1 };
      });
      yield* events;
      // Read the remaining pages from the same life, even if another life has begun since.
      range = rangeAfter({ ...page, life }, events);
    }
  }

  tail(runId: string, options?: TailOptions): AsyncIterable<RunEventRecord> {
    const range = checkTail(runId, options);
    let run: RunKey | null = this.#lookup.knownKey(runId, options);
    const readPage = async (reading: CallOptions) => {
      const events = await this.#context.read(reading, async (call) => {
        run ??= await this.#lookup.find(runId, options, call);
        if (!run) return [];
        const page = await this.#fetch(run, range, call);
        if (page.events.length > 0) range.life = page.life;
        return page.events;
      });
      range.afterSeq = events.at(-1)?.runSeq ?? range.afterSeq;
      return events;
    };
    return follow(this.#context, options, readPage, (call) => this.#engine.waitForEvents(run, call));
  }

  async getSnapshot(runId: string, options?: RunLifeOptions) {
    checkId(runId, 'runId');
    const life = checkOptionalLife(options?.life);
    return this.#context.read(options, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      const snapshot = run && (await this.#snapshots.stored(run, call));
      return snapshot && isOfLife(snapshot.life, life) ? snapshot : null;
    });
  }

  async projectSnapshot(runId: string, options?: RunLifeOptions & { atSeq?: number }) {
    checkId(runId, 'runId');
    const life = checkOptionalLife(options?.life);
    const atSeq = options?.atSeq === undefined ? null : checkInteger(options.atSeq, 'atSeq', 1);
    return this.#context.read(options, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      const project = (of: RunKey) =>
        atSeq === null ? this.#snapshots.current(of, call) : this.#snapshots.at(of, atSeq, call);
      const snapshot = run && (await this.#quarantine.recordingDamage(run, call, () => project(run)));
      if (!snapshot || !isOfLife(snapshot.life, life)) throw runNotFound(runId);
      return snapshot;
    });
  }

  async refreshSnapshot(runId: string, options?: RunReadOptions & { full?: boolean }): Promise<RefreshedSnapshot> {
    checkId(runId, 'runId');
    const full = checkOptionalBoolean(options?.full, 'full');
    const write = this.#context.writeOf('runs', 'refreshSnapshot', [runId, options]);
    return this.#context.write(options, write, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      const refresh = (of: RunKey) => this.#snapshots.refresh(of, call, { full });
      const refreshed = run && (await this.#quarantine.skippingDamaged(run, call, () => refresh(run)));
      if (!refreshed) throw runNotFound(runId);
      return refreshed;
    });
  }

  async markStale(runId: string, options?: RunReadOptions): Promise<boolean> {
    checkId(runId, 'runId');
    const write = this.#context.writeOf('runs', 'markStale', [runId, options]);
    return this.#context.write(options, write, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      return run ? this.#snapshots.markStale(run, call) : false;
    });
  }

  async forkRun(runId: string, options: ForkOptions) {
    return forkRun(this, this.#context.tenantId, checkId(runId, 'runId'), options);
  }

  async listRuns(options?: ListRunsOptions) {
    const parts = { engine: this.#visible, view: this.#view, quarantine: this.#quarantine };
    return listRuns(this.#context, parts, this.#abilities.canListByUpdate, options);
  }

  async countRuns(filter?: RunFilter & CallOptions) {
    return countRuns(this.#context, this.#visible, this.#view, this.#quarantine, filter);
  }

  async headSeq(runId: string, options?: RunLifeOptions): Promise<number> {
    return (await this.position(runId, options))?.lastEventSeq ?? 0;
  }

  async position(runId: string, options?: RunLifeOptions): Promise<RunPosition | null> {
    checkId(runId, 'runId');
    const life = checkOptionalLife(options?.life);
    return this.#context.read(options, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      const head = run && (await this.#lookup.liveHead(run, call));
      if (!head || !isOfLife(head.life, life)) return null;
      return { ...run, lastEventSeq: head.seq, rewrites: head.rewrites, ...laterLife(head.life) };
    });
  }

  async verify(runId: string, options?: RunReadOptions): Promise<VerifyReport> {
    checkId(runId, 'runId');
    return this.#quarantine.verify(await this.#findUnexpired(runId, options), options);
  }

  async listQuarantined(options?: ListQuarantinedOptions) {
    return this.#quarantine.list(this.#view, options);
  }

  async releaseRun(runId: string, options?: RunReadOptions): Promise<QuarantinedRun> {
    checkId(runId, 'runId');
    return this.#quarantine.release(await this.#findUnexpired(runId, options), options);
  }

  /** Does not throw if the head is damaged: the caller examines the damage. */
  async #findUnexpired(runId: string, options: RunReadOptions | undefined): Promise<RunKey> {
    return this.#context.read(options, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      if (!run || (await isExpired(this.#engine, run, call))) throw runNotFound(runId);
      return run;
    });
  }

  async deleteRun(runId: string, options?: RunLifeOptions & { expectedSeq?: number }): Promise<boolean> {
    checkId(runId, 'runId');
    const life = checkOptionalLife(options?.life);
    refuseOldNames('deleteRun', options);
    const expectedSeq =
      options?.expectedSeq === undefined ? undefined : checkInteger(options.expectedSeq, 'expectedSeq', 1);
    const write = this.#context.writeOf('runs', 'deleteRun', [runId, options]);
    return this.#context.write(options, write, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      if (!run) return false;
      await this.#snapshots.settled(run);
      if (await deleteIfExpired(this.#engine, run, call)) return false;
      return deleteLife(this.#engine, run, { at: this.#context.clock(), life, expectedSeq }, call);
    });
  }

  async deleteExpired(options?: DeleteExpiredOptions): Promise<ExpiredRuns> {
    const tenantId = checkTenant(this.#view, options?.tenantId) ?? undefined;
    const after = createdPosition(options?.cursor);
    const limit = checkLimit(options?.limit, 100, 1_000);
    const write = this.#context.writeOf('runs', 'deleteExpired', [options]);
    return this.#context.write(options, write, (call) => deleteExpired(this.#engine, { tenantId, after, limit }, call));
  }

  async *exportRun(runId: string, options?: RunReadOptions): AsyncIterable<RunPart> {
    checkId(runId, 'runId');
    const run = await this.#context.read(options, (call) => this.#lookup.find(runId, options, call));
    const head = run && (await this.#context.read(options, (call) => this.#lookup.liveHead(run, call)));
    if (!run || !head) throw runNotFound(runId);
    yield* exportParts(this.#context, this.#visible, run, head, options);
  }

  async restoreRun(parts: AsyncIterable<RunPart> | Iterable<RunPart>, options?: RestoreOptions) {
    return restoreParts(this.#context, this.#engine, this.#view, parts, options);
  }

  async archiveRun(
    runId: string,
    options: RunReadOptions & { location: string; expectedSeq: number; expectedRewrites?: number },
  ): Promise<boolean> {
    checkId(runId, 'runId');
    refuseOldNames('archiveRun', options);
    const archive = checkText(options?.location, 'location', MAX_LOCATION_BYTES);
    const expectedSeq = checkInteger(options.expectedSeq, 'expectedSeq', 1);
    const expectedRewrites =
      options.expectedRewrites === undefined
        ? undefined
        : checkInteger(options.expectedRewrites, 'expectedRewrites', 0);
    const write = this.#context.writeOf('runs', 'archiveRun', [runId, options]);
    return this.#context.write(options, write, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      if (!run) return false;
      await this.#snapshots.settled(run);
      if (await deleteIfExpired(this.#engine, run, call)) return false;
      const expected = { expectedSeq, expectedRewrites };
      return archiveLife(this.#engine, run, { at: this.#context.clock(), archive, ...expected }, call);
    });
  }

  async redactEvent(
    runId: string,
    runSeq: number,
    options: RunReadOptions & { by: string; reason: string },
  ): Promise<boolean> {
    checkId(runId, 'runId');
    const request = checkRedaction(runSeq, options);
    const { canRedact, dropStates } = this.#abilities;
    if (!canRedact) throw redactionUnsupported();
    const derived = { snapshots: this.#snapshots, dropStates };
    const write = this.#context.writeOf('runs', 'redactEvent', [runId, runSeq, options]);
    return this.#context.write(options, write, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      return run !== null && redactEvent(this.#context, this.#visible, derived, { run, ...request }, call);
    });
  }

  async archiveLocation(runId: string, options?: RunReadOptions): Promise<string | null> {
    checkId(runId, 'runId');
    return this.#context.read(options, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      const head = run && (await this.#visible.head(run, call));
      return isTombstone(head) && head.kind !== 'deleted' ? (head.archive ?? null) : null;
    });
  }

  feed(options: NoticeFeedOptions): AsyncIterable<FeedItem | NoticeItem>;
  feed(options?: FeedOptions): AsyncIterable<FeedItem>;
  feed(options?: FeedOptions): AsyncIterable<FeedItem | NoticeItem> {
    return this.#feed.follow(options);
  }

  feedPage(options: NoticeFeedOptions & { limit?: number; wait?: Duration }): Promise<FeedPage<FeedItem | NoticeItem>>;
  feedPage(options?: FeedOptions & { limit?: number; wait?: Duration }): Promise<FeedPage>;
  async feedPage(
    options?: FeedOptions & { limit?: number; wait?: Duration },
  ): Promise<FeedPage<FeedItem | NoticeItem>> {
    return this.#feed.page(options, checkLimit(options?.limit, DEFAULT_FETCH, MAX_FETCH));
  }

  handle<S extends EventSchemas>(
    runId: string,
    defaults: RunDefaults & { events: EventDefinitions<S> },
  ): TypedRunHandle<S>;
  handle(runId: string, defaults?: RunDefaults): RunHandle;
  handle(runId: string, defaults?: HandleDefaults) {
    return createHandle(this, checkId(runId, 'runId'), { tenantId: this.#view?.tenantId, ...defaults });
  }
}
