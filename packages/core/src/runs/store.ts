/** The run store of every backend: validates and hashes before the engine, verifies and decodes after it. */
import { sameJson } from '../checks/json.ts';
import { checkInteger, checkLimit, timeText } from '../checks/numbers.ts';
import { checkId, checkText } from '../checks/text.ts';
import type { Payloads } from '../codec/payloads.ts';
import type { StoreContext } from '../context.ts';
import type { CallOptions, Duration } from '../contracts/common.ts';
import { invalidArgument, isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type {
  AppendOptions,
  AppendResult,
  EventDefinitions,
  FeedOptions,
  FetchOptions,
  ForkOptions,
  ListRunsOptions,
  RefreshedSnapshot,
  RunDefaults,
  RunEventInput,
  RunEventRecord,
  RunHandle,
  RunPart,
  RunReadOptions,
  RunStore,
  TypedRunHandle,
  VerifyReport,
} from '../contracts/runs.ts';
import type { EventSchemas } from '../contracts/schemas.ts';
import type { Store } from '../contracts/store.ts';
import type {
  EngineCall,
  PlacedEvent,
  PreparedEvent,
  RunAppend,
  RunEngine,
  RunHead,
  RunKey,
  RunTombstone,
  StoredRunEvent,
} from '../engine/runs.ts';
import { isTombstone } from '../engine/runs.ts';
import { digestBytes } from '../hash.ts';
import { follow } from '../live.ts';
import { checkProjections, InlineAppend, inlineUnsupported } from '../projections/inline.ts';
import { tombstoneError } from './append.ts';
import { ChainReader, FIRST_LINK, payloadHashOf } from './chain.ts';
import { fetchChecked } from './checked-page.ts';
import { exportParts } from './export.ts';
import { FeedReader } from './feed.ts';
import { forkRun } from './fork.ts';
import { createHandle, type HandleDefaults } from './handle.ts';
import { listRuns } from './list.ts';
import { type Prepared, placeOf, prepareEvent, recordOf } from './prepare.ts';
import { checkRedaction, redactEvent, redactionUnsupported } from './redaction.ts';
import { type RestoreOptions, restoreParts } from './restore.ts';
import { SnapshotReader } from './snapshots.ts';
import { checkTenant, type RunView, runNotFound } from './view.ts';

const MAX_BATCH = 1_000;
const DEFAULT_FETCH = 1_000;
const MAX_FETCH = 10_000;
const VERIFY_PAGE = 1_000;
const MAX_LOCATION_BYTES = 2_048;

/** What only some engines can do. */
export interface RunAbilities {
  canRedact: boolean;
  /** Gives the view of a tenant where states can be written with their events, else `null`. */
  inlineView: ((tenantId: string) => Store) | null;
}

const NO_ABILITIES: RunAbilities = { canRedact: false, inlineView: null };

export class Runs implements RunStore {
  readonly #context: StoreContext;
  readonly #engine: RunEngine;
  readonly #view: RunView;
  readonly #abilities: RunAbilities;
  readonly #snapshots: SnapshotReader;
  readonly #feed: FeedReader;

  constructor(context: StoreContext, engine: RunEngine, view: RunView, abilities: RunAbilities = NO_ABILITIES) {
    this.#context = context;
    this.#engine = engine;
    this.#view = view;
    this.#abilities = abilities;
    this.#snapshots = new SnapshotReader(context, engine);
    this.#feed = new FeedReader(context, engine, view);
  }

  async appendEvent(event: RunEventInput, options?: AppendOptions): Promise<AppendResult> {
    const [result] = await this.#append([event], options, { method: 'appendEvent', event });
    return result!;
  }

  async appendEvents(events: readonly RunEventInput[], options?: AppendOptions): Promise<AppendResult[]> {
    if (!Array.isArray(events)) throw invalidArgument('events', 'an array of events', events);
    if (events.length > MAX_BATCH) throw invalidArgument('events', `at most ${MAX_BATCH} events`, events.length);
    if (events.length === 0) return [];
    return this.#append(events, options, { method: 'appendEvents', events });
  }

  async #append(
    events: readonly RunEventInput[],
    options: AppendOptions | undefined,
    write: unknown,
  ): Promise<AppendResult[]> {
    const prepared = events.map((event) => prepareEvent(this.#context, event, this.#view));
    const appends = groupByRun(prepared);
    if (options?.expectedSeq !== undefined) {
      checkInteger(options.expectedSeq, 'expectedSeq', 0);
      if (appends.length > 1) throw invalidArgument('expectedSeq', 'used with events of a single run');
      appends[0]!.expectedSeq = options.expectedSeq;
    }
    const appender = this.#appenderOf(options);
    return this.#context.write(options, write, async (call) => {
      if (options?.rejectInvalidTransitions) return this.#appendValid(prepared, appends, appender, call);
      const outcomes = await appender.append(appends, Object.assign(call, { transaction: options?.transaction }));
      return resultsOf(this.#context.payloads, prepared, appends, outcomes);
    });
  }

  #appenderOf(options: AppendOptions | undefined): Pick<RunEngine, 'append'> {
    const followed = checkProjections(options?.projections);
    if (!followed) return this.#engine;
    if (options?.transaction !== undefined) throw invalidArgument('projections', 'used without a transaction');
    const { inlineView } = this.#abilities;
    if (!inlineView) throw inlineUnsupported();
    return new InlineAppend(this.#context, this.#engine, inlineView, followed);
  }

  /** Appends only what the transition table allows, against the very state it was checked on (RUN-11). */
  async #appendValid(
    prepared: Prepared[],
    appends: RunAppend[],
    appender: Pick<RunEngine, 'append'>,
    call: EngineCall,
  ): Promise<AppendResult[]> {
    const outcomes: (PlacedEvent[] | Error)[] = [];
    for (const append of appends) outcomes.push(await this.#appendOneValid(append, appender, call));
    return resultsOf(this.#context.payloads, prepared, appends, outcomes);
  }

  async #appendOneValid(
    append: RunAppend,
    appender: Pick<RunEngine, 'append'>,
    call: EngineCall,
  ): Promise<PlacedEvent[]> {
    for (;;) {
      const fresh: PreparedEvent[] = [];
      for (const event of append.events) if (!(await this.#isStored(append, event, call))) fresh.push(event);
      const seq = await this.#snapshots.checkTransitions(append.run, fresh, call);
      const [outcome] = await appender.append([{ ...append, expectedSeq: append.expectedSeq ?? seq }], call);
      if (!isTidemarkError(outcome, 'SEQ_CONFLICT') || append.expectedSeq !== undefined) return unwrap(outcome!);
    }
  }

  /** A duplicate passes a fence that nothing else can pass, so an impossible one asks without writing (RUN-7). */
  async #isStored(append: RunAppend, event: PreparedEvent, call: EngineCall): Promise<boolean> {
    const [outcome] = await this.#engine.append([{ ...append, events: [event], expectedSeq: -1 }], call);
    if (isTidemarkError(outcome, 'SEQ_CONFLICT')) return false;
    return unwrap(outcome!).length === 1;
  }

  async fetchEvents(runId: string, options?: FetchOptions): Promise<RunEventRecord[]> {
    const { afterSeq, limit } = checkFetch(runId, options);
    return this.#context.read(options, async (call) => {
      const run = await this.#find(runId, options, call);
      return run ? this.#fetch(run, afterSeq, limit, call) : [];
    });
  }

  async #fetch(run: RunKey, afterSeq: number, limit: number, call: EngineCall): Promise<RunEventRecord[]> {
    const events = await fetchChecked(this.#engine, run, afterSeq, limit, call);
    // Nothing more, or nothing any more: an archived run is not an empty one (RUN-15).
    if (events.length === 0) await this.#liveHead(run, call);
    return events.map((event) => recordOf(this.#context.payloads, run, event));
  }

  async *readEvents(runId: string, options?: FetchOptions): AsyncIterable<RunEventRecord> {
    let { afterSeq, limit } = checkFetch(runId, options);
    for (;;) {
      const events = await this.fetchEvents(runId, { ...options, afterSeq, limit });
      yield* events;
      if (events.length < limit) return;
      afterSeq = events.at(-1)!.runSeq;
    }
  }

  tail(runId: string, options?: FetchOptions): AsyncIterable<RunEventRecord> {
    let { afterSeq, limit } = checkFetch(runId, options);
    let run: RunKey | null = this.#knownKey(runId, options);
    const readPage = async (reading: CallOptions) => {
      const events = await this.#context.read(reading, async (call) => {
        run ??= await this.#find(runId, options, call);
        return run ? this.#fetch(run, afterSeq, limit, call) : [];
      });
      afterSeq = events.at(-1)?.runSeq ?? afterSeq;
      return events;
    };
    return follow(this.#context, options, readPage, (call) => this.#engine.waitForEvents(run, call));
  }

  async getSnapshot(runId: string, options?: RunReadOptions) {
    checkId(runId, 'runId');
    return this.#context.read(options, async (call) => {
      const run = await this.#find(runId, options, call);
      return run && ((await this.#snapshots.stored(run, call)) ?? this.#noSnapshot(run, call));
    });
  }

  async projectSnapshot(runId: string, options?: RunReadOptions & { atSeq?: number }) {
    checkId(runId, 'runId');
    const atSeq = options?.atSeq === undefined ? null : checkInteger(options.atSeq, 'atSeq', 1);
    return this.#context.read(options, async (call) => {
      const run = await this.#find(runId, options, call);
      const snapshot =
        run && (atSeq === null ? await this.#snapshots.current(run, call) : await this.#snapshots.at(run, atSeq, call));
      if (run && !snapshot) await this.#noSnapshot(run, call);
      if (!snapshot) throw runNotFound(runId);
      return snapshot;
    });
  }

  async refreshSnapshot(runId: string, options?: RunReadOptions): Promise<RefreshedSnapshot> {
    checkId(runId, 'runId');
    return this.#context.write(options, { method: 'refreshSnapshot', runId }, async (call) => {
      const run = await this.#find(runId, options, call);
      const refreshed = run && ((await this.#snapshots.refresh(run, call)) ?? (await this.#noSnapshot(run, call)));
      if (!refreshed) throw runNotFound(runId);
      return refreshed;
    });
  }

  async markStale(runId: string, options?: RunReadOptions): Promise<boolean> {
    checkId(runId, 'runId');
    return this.#context.write(options, { method: 'markStale', runId }, async (call) => {
      const run = await this.#find(runId, options, call);
      return run ? this.#snapshots.markStale(run, call) : false;
    });
  }

  async forkRun(runId: string, options: ForkOptions) {
    return forkRun(this, checkId(runId, 'runId'), options);
  }

  async listRuns(options?: ListRunsOptions) {
    return listRuns(this.#context, this.#engine, this.#view, options);
  }

  async headSeq(runId: string, options?: RunReadOptions): Promise<number> {
    checkId(runId, 'runId');
    return this.#context.read(options, async (call) => {
      const run = await this.#find(runId, options, call);
      return (run && (await this.#liveHead(run, call)))?.seq ?? 0;
    });
  }

  async verify(runId: string, options?: RunReadOptions): Promise<VerifyReport> {
    checkId(runId, 'runId');
    const run = await this.#context.read(options, (call) => this.#find(runId, options, call));
    const head = run && (await this.#context.read(options, (call) => this.#liveHead(run, call)));
    if (!run || !head) throw runNotFound(runId);
    return this.#verify(run, head, options);
  }

  async #verify(run: RunKey, head: RunHead, options: RunReadOptions | undefined): Promise<VerifyReport> {
    const reader = new ChainReader(run);
    const report = { ...run, events: 0, head: digestBytes(head.link).toString('hex') };
    const broken = async (runSeq: number, reason: string) => {
      // A run that was removed meanwhile is not a broken one.
      if (!(await this.#context.read(options, (call) => this.#liveHead(run, call)))) throw runNotFound(run.runId);
      return { ...report, ok: false, problem: { runSeq, reason } };
    };
    let link = FIRST_LINK;
    while (report.events < head.seq) {
      const limit = Math.min(VERIFY_PAGE, head.seq - report.events);
      const page = await this.#context.read(options, (call) => this.#engine.fetch(run, report.events, limit, call));
      if (page.events[0]?.runSeq !== report.events + 1) return broken(report.events + 1, 'the event is missing');
      for (const event of page.events) {
        const problem = reader.problemOf(event);
        if (problem !== null) return broken(event.runSeq, problem);
        report.events = event.runSeq;
        link = event.link;
      }
    }
    if (link !== head.link) return broken(head.seq, 'the link of the run does not match its last event');
    return { ...report, ok: true };
  }

  async deleteRun(runId: string, options?: RunReadOptions & { atSeq?: number }): Promise<boolean> {
    checkId(runId, 'runId');
    const atSeq = options?.atSeq === undefined ? undefined : checkInteger(options.atSeq, 'atSeq', 1);
    return this.#context.write(options, { method: 'deleteRun', runId }, async (call) => {
      const run = await this.#find(runId, options, call);
      if (!run) return false;
      await this.#snapshots.settled(run);
      return this.#engine.remove(run, { kind: 'deleted', at: this.#context.clock() }, Object.assign(call, { atSeq }));
    });
  }

  async *exportRun(runId: string, options?: RunReadOptions): AsyncIterable<RunPart> {
    checkId(runId, 'runId');
    const run = await this.#context.read(options, (call) => this.#find(runId, options, call));
    const head = run && (await this.#context.read(options, (call) => this.#liveHead(run, call)));
    if (!run || !head) throw runNotFound(runId);
    yield* exportParts(this.#context, this.#engine, run, head, options);
  }

  async restoreRun(parts: AsyncIterable<RunPart> | Iterable<RunPart>, options?: RestoreOptions) {
    return restoreParts(this.#context, this.#engine, this.#view, parts, options);
  }

  async archiveRun(runId: string, options: RunReadOptions & { location: string; atSeq: number }): Promise<boolean> {
    checkId(runId, 'runId');
    const archive = checkText(options?.location, 'location', MAX_LOCATION_BYTES);
    const atSeq = checkInteger(options.atSeq, 'atSeq', 1);
    return this.#context.write(options, { method: 'archiveRun', runId }, async (call) => {
      const run = await this.#find(runId, options, call);
      if (!run) return false;
      const head = await this.#engine.head(run, call);
      if (isTombstone(head) && head.kind === 'restoring') throw tombstoneError(runId, head);
      await this.#snapshots.settled(run);
      const tombstone: RunTombstone = { kind: 'archived', at: this.#context.clock(), archive };
      return this.#engine.remove(run, tombstone, Object.assign(call, { atSeq }));
    });
  }

  async redactEvent(
    runId: string,
    runSeq: number,
    options: RunReadOptions & { by: string; reason: string },
  ): Promise<boolean> {
    checkId(runId, 'runId');
    const request = checkRedaction(runSeq, options);
    if (!this.#abilities.canRedact) throw redactionUnsupported();
    return this.#context.write(options, { method: 'redactEvent', runId, args: [request] }, async (call) => {
      const run = await this.#find(runId, options, call);
      return run !== null && redactEvent(this.#context, this.#engine, this.#snapshots, { run, ...request }, call);
    });
  }

  async archivedAt(runId: string, options?: RunReadOptions): Promise<string | null> {
    checkId(runId, 'runId');
    return this.#context.read(options, async (call) => {
      const run = await this.#find(runId, options, call);
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
    return createHandle(this, this.#context, checkId(runId, 'runId'), { tenantId: this.#view?.tenantId, ...defaults });
  }

  /** The run a read speaks of: of the view's tenant, the named tenant, or the one tenant that has it (GEN-10). */
  async #find(runId: string, options: RunReadOptions | undefined, call: EngineCall): Promise<RunKey | null> {
    const known = this.#knownKey(runId, options);
    if (known) return known;
    const tenants = await this.#engine.tenantsOf(runId, call);
    if (tenants.length > 1) {
      throw new TidemarkError(
        'AMBIGUOUS_RUN',
        `Several tenants have a run ${JSON.stringify(runId)}; name one with tenantId or forTenant()`,
        {
          field: 'tenantId',
          rule: 'given when several tenants have a run of this id',
          runId,
        },
      );
    }
    return tenants[0] === undefined ? null : { tenantId: tenants[0], runId };
  }

  #knownKey(runId: string, options: RunReadOptions | undefined): RunKey | null {
    const tenantId = checkTenant(this.#view, options?.tenantId);
    return tenantId === null ? null : { tenantId, runId };
  }

  /** There is none of an unknown run; an archived one is `RUN_ARCHIVED` (RUN-15). */
  async #noSnapshot(run: RunKey, call: EngineCall): Promise<null> {
    await this.#liveHead(run, call);
    return null;
  }

  async #liveHead(run: RunKey, call: EngineCall): Promise<RunHead | null> {
    const head = await this.#engine.head(run, call);
    if (!isTombstone(head)) return head;
    if (head.kind !== 'deleted') throw tombstoneError(run.runId, head);
    return null;
  }
}

function checkFetch(runId: unknown, options: FetchOptions | undefined): { afterSeq: number; limit: number } {
  checkId(runId, 'runId');
  return {
    afterSeq: options?.afterSeq === undefined ? 0 : checkInteger(options.afterSeq, 'afterSeq', 0),
    limit: checkLimit(options?.limit, DEFAULT_FETCH, MAX_FETCH),
  };
}

/** One append per run, the events of each in their order. */
function groupByRun(prepared: readonly Prepared[]): RunAppend[] {
  if (prepared.length === 1) {
    const { run, event, labels, parentRunId } = prepared[0]!;
    return [{ run, events: [event], labels, parentRunId }];
  }
  const appends = new Map<string, RunAppend>();
  for (const { run, event, labels, parentRunId } of prepared) {
    const key = `${run.tenantId}\0${run.runId}`;
    const append = appends.get(key);
    if (append) append.events.push(event);
    else appends.set(key, { run, events: [event], labels, parentRunId });
  }
  return [...appends.values()];
}

/** The results in the order of the inputs; the first refusal is thrown. */
function resultsOf(
  payloads: Payloads,
  prepared: readonly Prepared[],
  appends: readonly RunAppend[],
  outcomes: readonly (PlacedEvent[] | Error)[],
): AppendResult[] {
  if (prepared.length === 1) return [resultOf(payloads, prepared[0]!, unwrap(outcomes[0]!)[0]!)];
  const placedOf = new Map<PreparedEvent, PlacedEvent>();
  appends.forEach((append, index) => {
    const placed = unwrap(outcomes[index]!);
    for (const [at, event] of append.events.entries()) placedOf.set(event, placed[at]!);
  });
  return prepared.map((it) => resultOf(payloads, it, placedOf.get(it.event)!));
}

function unwrap(outcome: PlacedEvent[] | Error): PlacedEvent[] {
  if (outcome instanceof Error) throw outcome;
  return outcome;
}

function resultOf(payloads: Payloads, { run, event }: Prepared, placed: PlacedEvent): AppendResult {
  const { runSeq, duplicateOf } = placed;
  const persistedAt = timeText(placed.persistedAt);
  if (!duplicateOf) return { eventId: event.eventId, runSeq, persistedAt, idempotent: false, persisted: true };
  const payloadMatches = saysTheSame(payloads, run, event, duplicateOf);
  const result = { eventId: duplicateOf.eventId, runSeq, persistedAt, idempotent: true, persisted: false };
  return payloadMatches === null ? result : { ...result, payloadMatches };
}

/** `null` where it cannot be known: a codec gives another text each time, and of a redacted one only the hash is left. */
function saysTheSame(payloads: Payloads, run: RunKey, sent: PreparedEvent, stored: StoredRunEvent): boolean | null {
  if (sent.eventType !== stored.eventType || sent.stepId !== stored.stepId) return false;
  if (stored.redaction) {
    if (payloadHashOf(sent.payload) === stored.redaction.payloadHash) return true;
    return payloads.codec === null ? false : null;
  }
  if (sent.payload === stored.payload) return true;
  if (sent.payload === null || stored.payload === null) return false;
  const place = placeOf(run, stored);
  try {
    return sameJson(payloads.decode(sent.payload, place), payloads.decode(stored.payload, place));
  } catch (error) {
    // Others of the batch are written: one whose stored payload cannot be read any more must not deny that.
    if (isTidemarkError(error, 'CODEC_FAILED')) return false;
    throw error;
  }
}
