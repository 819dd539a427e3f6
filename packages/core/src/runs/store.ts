/** The run store of every backend: validates and hashes before the engine, verifies and decodes after it. */

import { checkInteger, checkLimit } from '../checks/numbers.ts';
import { refuseOldNames } from '../checks/renamed.ts';
import { checkId, checkOptionalBoolean, checkText } from '../checks/text.ts';
import type { CallOptions, Duration } from '../contracts/common.ts';
import { invalidArgument } from '../contracts/errors.ts';
import type { ListQuarantinedOptions, QuarantinedRun } from '../contracts/quarantines.ts';
import type { AppendOptions, AppendResult } from '../contracts/run-appends.ts';
import type { EventDefinitions, RunEventInput, RunEventRecord } from '../contracts/run-events.ts';
import type { RunDefaults, RunHandle, TypedRunHandle } from '../contracts/run-handle.ts';
import type { RunPart } from '../contracts/run-parts.ts';
import type { RefreshedSnapshot } from '../contracts/run-state.ts';
import type {
  FeedOptions,
  FetchOptions,
  ForkOptions,
  ListRunsOptions,
  RunPosition,
  RunReadOptions,
  RunStore,
  TailOptions,
  VerifyReport,
} from '../contracts/runs.ts';
import type { EventSchemas } from '../contracts/schemas.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RunEngine, RunTombstone } from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import type { StoreContext } from '../tools/context.ts';
import { follow } from '../tools/live.ts';
import { withCalls } from '../tools/with-calls.ts';
import { tombstoneError } from './append.ts';
import { EventAppender, type InlineAppends } from './appender.ts';
import { filledEvent, filledEvents } from './envelope.ts';
import { checkEventRange, checkTail, type EventRange, rangeAfter } from './event-range.ts';
import { exportParts } from './export.ts';
import { FeedReader } from './feed.ts';
import { fetchRange } from './fetch-range.ts';
import { forkRun } from './fork.ts';
import { createHandle, type HandleDefaults } from './handle.ts';
import { watchHeads } from './head-watch.ts';
import { listRuns } from './list.ts';
import { RunLookup } from './lookup.ts';
import { recordOf } from './prepare.ts';
import { Quarantine } from './quarantine.ts';
import { checkRedaction, redactEvent, redactionUnsupported } from './redaction.ts';
import { type RestoreOptions, restoreParts } from './restore.ts';
import { SnapshotReader } from './snapshots.ts';
import { type RunView, runNotFound } from './view.ts';

const MAX_BATCH = 1_000;
const DEFAULT_FETCH = 1_000;
const MAX_FETCH = 10_000;
const MAX_LOCATION_BYTES = 2_048;

/** Abilities that only some engines have. */
export interface RunAbilities {
  canRedact: boolean;
  inlineAppends: InlineAppends;
  /** Removes the projection states of a run, if this store keeps them. */
  dropStates(run: RunKey, call: EngineCall): Promise<void>;
}

const NO_ABILITIES: RunAbilities = { canRedact: false, inlineAppends: () => null, dropStates: async () => {} };

export class Runs implements RunStore {
  readonly #context: StoreContext;
  readonly #engine: RunEngine;
  readonly #view: RunView;
  readonly #abilities: RunAbilities;
  readonly #lookup: RunLookup;
  readonly #snapshots: SnapshotReader;
  readonly #appender: EventAppender;
  readonly #quarantine: Quarantine;
  readonly #feed: FeedReader;

  constructor(context: StoreContext, engine: RunEngine, view: RunView, abilities: RunAbilities = NO_ABILITIES) {
    const watched = withCalls(engine, watchHeads(context, engine));
    this.#context = context;
    this.#engine = watched;
    this.#view = view;
    this.#abilities = abilities;
    this.#lookup = new RunLookup(watched, view);
    this.#snapshots = new SnapshotReader(context, watched);
    this.#appender = new EventAppender(context, watched, view, this.#snapshots, abilities.inlineAppends);
    this.#quarantine = new Quarantine(context, watched, this.#snapshots);
    this.#feed = new FeedReader(context, watched, view, this.#quarantine);
  }

  async appendEvent(input: RunEventInput, options?: AppendOptions): Promise<AppendResult> {
    const event = filledEvent(input, this.#context, this.#view?.tenantId);
    const [result] = await this.#appender.append(
      [event],
      options,
      this.#context.writeOf('runs', 'appendEvent', [event, options]),
    );
    return result!;
  }

  async appendEvents(inputs: readonly RunEventInput[], options?: AppendOptions): Promise<AppendResult[]> {
    if (!Array.isArray(inputs)) throw invalidArgument('events', 'an array of events', inputs);
    if (inputs.length > MAX_BATCH) throw invalidArgument('events', `at most ${MAX_BATCH} events`, inputs.length);
    if (inputs.length === 0) return [];
    const events = filledEvents(inputs, this.#context, this.#view?.tenantId);
    return this.#appender.append(events, options, this.#context.writeOf('runs', 'appendEvents', [events, options]));
  }

  async fetchEvents(runId: string, options?: FetchOptions): Promise<RunEventRecord[]> {
    const range = checkEventRange(runId, options);
    return this.#context.read(options, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      return run ? this.#fetch(run, range, call) : [];
    });
  }

  async #fetch(run: RunKey, range: EventRange, call: EngineCall): Promise<RunEventRecord[]> {
    const events = await fetchRange(this.#engine, run, range, call);
    return events.map((event) => recordOf(this.#context.payloads, run, event));
  }

  async *readEvents(runId: string, options?: FetchOptions): AsyncIterable<RunEventRecord> {
    for (let range: EventRange | null = checkEventRange(runId, options); range; ) {
      const events: RunEventRecord[] = await this.fetchEvents(runId, { ...options, ...range });
      yield* events;
      range = rangeAfter(range, events);
    }
  }

  tail(runId: string, options?: TailOptions): AsyncIterable<RunEventRecord> {
    const range = checkTail(runId, options);
    let run: RunKey | null = this.#lookup.knownKey(runId, options);
    const readPage = async (reading: CallOptions) => {
      const events = await this.#context.read(reading, async (call) => {
        run ??= await this.#lookup.find(runId, options, call);
        return run ? this.#fetch(run, range, call) : [];
      });
      range.afterSeq = events.at(-1)?.runSeq ?? range.afterSeq;
      return events;
    };
    return follow(this.#context, options, readPage, (call) => this.#engine.waitForEvents(run, call));
  }

  async getSnapshot(runId: string, options?: RunReadOptions) {
    checkId(runId, 'runId');
    return this.#context.read(options, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      return run && this.#snapshots.stored(run, call);
    });
  }

  async projectSnapshot(runId: string, options?: RunReadOptions & { atSeq?: number }) {
    checkId(runId, 'runId');
    const atSeq = options?.atSeq === undefined ? null : checkInteger(options.atSeq, 'atSeq', 1);
    return this.#context.read(options, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      const project = (of: RunKey) =>
        atSeq === null ? this.#snapshots.current(of, call) : this.#snapshots.at(of, atSeq, call);
      const snapshot = run && (await this.#quarantine.watching(run, call, () => project(run)));
      if (!snapshot) throw runNotFound(runId);
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
      const refreshed = run && (await this.#quarantine.watchingFold(run, call, () => refresh(run)));
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
    return listRuns(this.#context, this.#engine, this.#view, this.#quarantine, options);
  }

  async headSeq(runId: string, options?: RunReadOptions): Promise<number> {
    checkId(runId, 'runId');
    return this.#context.read(options, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      return (run && (await this.#lookup.liveHead(run, call)))?.seq ?? 0;
    });
  }

  async position(runId: string, options?: RunReadOptions): Promise<RunPosition | null> {
    checkId(runId, 'runId');
    return this.#context.read(options, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      const head = run && (await this.#lookup.liveHead(run, call));
      return head && { ...run, lastEventSeq: head.seq, rewrites: head.rewrites };
    });
  }

  async verify(runId: string, options?: RunReadOptions): Promise<VerifyReport> {
    checkId(runId, 'runId');
    const run = await this.#context.read(options, (call) => this.#lookup.find(runId, options, call));
    if (!run) throw runNotFound(runId);
    return this.#quarantine.verify(run, options);
  }

  async listQuarantined(options?: ListQuarantinedOptions) {
    return this.#quarantine.list(this.#view, options);
  }

  async releaseRun(runId: string, options?: RunReadOptions): Promise<QuarantinedRun> {
    checkId(runId, 'runId');
    const run = await this.#context.read(options, (call) => this.#lookup.find(runId, options, call));
    if (!run) throw runNotFound(runId);
    return this.#quarantine.release(run, options);
  }

  async deleteRun(runId: string, options?: RunReadOptions & { expectedSeq?: number }): Promise<boolean> {
    checkId(runId, 'runId');
    refuseOldNames('deleteRun', options);
    const expectedSeq =
      options?.expectedSeq === undefined ? undefined : checkInteger(options.expectedSeq, 'expectedSeq', 1);
    const write = this.#context.writeOf('runs', 'deleteRun', [runId, options]);
    return this.#context.write(options, write, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      if (!run) return false;
      await this.#snapshots.settled(run);
      return this.#engine.remove(
        run,
        { kind: 'deleted', at: this.#context.clock() },
        Object.assign(call, { expectedSeq }),
      );
    });
  }

  async *exportRun(runId: string, options?: RunReadOptions): AsyncIterable<RunPart> {
    checkId(runId, 'runId');
    const run = await this.#context.read(options, (call) => this.#lookup.find(runId, options, call));
    const head = run && (await this.#context.read(options, (call) => this.#lookup.liveHead(run, call)));
    if (!run || !head) throw runNotFound(runId);
    yield* exportParts(this.#context, this.#engine, run, head, options);
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
      const head = await this.#engine.head(run, call);
      if (isTombstone(head) && head.kind === 'restoring') throw tombstoneError(runId, head);
      await this.#snapshots.settled(run);
      const tombstone: RunTombstone = { kind: 'archived', at: this.#context.clock(), archive };
      return this.#engine.remove(run, tombstone, Object.assign(call, { expectedSeq, expectedRewrites }));
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
      return run !== null && redactEvent(this.#context, this.#engine, derived, { run, ...request }, call);
    });
  }

  async archiveLocation(runId: string, options?: RunReadOptions): Promise<string | null> {
    checkId(runId, 'runId');
    return this.#context.read(options, async (call) => {
      const run = await this.#lookup.find(runId, options, call);
      const head = run && (await this.#engine.head(run, call));
      return isTombstone(head) && head.kind !== 'deleted' ? (head.archive ?? null) : null;
    });
  }

  feed(options?: FeedOptions) {
    return this.#feed.follow(options);
  }

  async feedPage(options?: FeedOptions & { limit?: number; wait?: Duration }) {
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
