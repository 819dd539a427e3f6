/**
 * Inline projections: an append that commits events and states in one transaction. After it resolves, every stored
 * state includes its events, and no state is stored without its events.
 */

import type { CallOptions } from '../contracts/common.ts';
import { invalidArgument, isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { Projection } from '../contracts/projections.ts';
import type { AppendOptions } from '../contracts/run-appends.ts';
import type { Store } from '../contracts/store.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RecordName, RecordWrite, StoredRecord } from '../engine/records.ts';
import type { RunKey } from '../engine/run-key.ts';
import type {
  OpenLog,
  RunAppend,
  RunEngine,
  SameCommitWrites,
  SequencedEvent,
  StoredRunEvent,
} from '../engine/runs.ts';
import { encodeFields, recordOf as kvRecordOf } from '../kv/values.ts';
import { checkPage, missingEvent } from '../runs/chain.ts';
import { readLogPage } from '../runs/log-page.ts';
import { recordOf } from '../runs/prepare.ts';
import { refuseIfOver } from '../tools/contention.ts';
import type { StoreContext } from '../tools/context.ts';
import { DefinedProjection } from './define.ts';
import { type Handlers, ProjectionFold } from './fold.ts';
import { fieldsOf, isUpToDate, parseState, type StateStorage, type StoredState, stateKey } from './stored.ts';

/** The maximum number of events to fold inside the transaction, which blocks other writers. */
const MAX_BEHIND = 100;
const MAX_ATTEMPTS = 20;

type FoldedEvent = Omit<StoredRunEvent, 'commitIndex' | 'link'>;
type Outcome = SequencedEvent[] | Error;

/** Aborts a transaction whose stored state is ahead or too far behind. Always caught in this file. */
class StateOutOfStep extends Error {}

/** A projection whose state is written with an append. */
interface InlineProjection {
  projection: Projection<unknown>;
  handlers: Handlers;
}

/** Returns the projections of an append, or `null` if there are none. */
function checkProjections(projections: unknown): InlineProjection[] | null {
  if (projections === undefined) return null;
  const rule = 'an array of projections that defineProjection gave';
  if (!Array.isArray(projections)) throw invalidArgument('projections', rule, projections);
  const names = new Set<string>();
  const inline = projections.map((projection: unknown, at): InlineProjection => {
    const handlers = DefinedProjection.handlersOf(projection);
    if (!handlers) throw invalidArgument(`projections[${at}]`, 'a projection that defineProjection gave', projection);
    const name = `${handlers.name} ${handlers.version}`;
    if (names.has(name)) throw invalidArgument(`projections[${at}]`, 'another name or version than those before it');
    names.add(name);
    return { projection: projection as Projection<unknown>, handlers };
  });
  return inline.length === 0 ? null : inline;
}

function inlineUnsupported(): TidemarkError {
  return new TidemarkError(
    'UNSUPPORTED',
    'This store cannot write states in the transaction of the events; let a projector keep them',
    { field: 'projections', rule: 'a capability of the store' },
  );
}

/**
 * Returns an `append` that also writes the states of the projections in the options, or `null` without projections.
 * `viewOf` returns the view of a tenant; it is `null` when the store cannot write states with their events.
 */
export function inlineAppend(
  context: StoreContext,
  engine: RunEngine,
  options: AppendOptions | undefined,
  viewOf: ((tenantId: string) => Store) | null,
): Pick<RunEngine, 'append'> | null {
  const inline = checkProjections(options?.projections);
  if (!inline) return null;
  if (options?.transaction !== undefined) throw invalidArgument('projections', 'used without a transaction');
  if (!viewOf) throw inlineUnsupported();
  return new InlineAppend(context, engine, viewOf, inline);
}

class InlineAppend implements Pick<RunEngine, 'append'> {
  readonly #context: StoreContext;
  readonly #engine: RunEngine;
  readonly #viewOf: (tenantId: string) => Store;
  readonly #projections: readonly InlineProjection[];

  constructor(
    context: StoreContext,
    engine: RunEngine,
    viewOf: (tenantId: string) => Store,
    inline: readonly InlineProjection[],
  ) {
    this.#context = context;
    this.#engine = engine;
    this.#viewOf = viewOf;
    this.#projections = inline;
  }

  async append(appends: readonly RunAppend[], call: EngineCall): Promise<Outcome[]> {
    const outcomes = await this.#appendOnce(appends, call);
    const settle = async (outcome: Outcome, at: number): Promise<Outcome> => {
      const append = appends[at]!;
      const placed = outcome instanceof StateOutOfStep ? await this.#appendAfterRefresh(append, call) : outcome;
      if (!(placed instanceof Error)) await this.#refreshForDuplicates(append.run, placed, call);
      return placed;
    };
    return Promise.all(outcomes.map((outcome, at) => settle(outcome, at).catch((error: Error) => error)));
  }

  #appendOnce(appends: readonly RunAppend[], call: EngineCall): Promise<Outcome[]> {
    return this.#engine.append(
      appends.map((append) => ({ ...append, sameCommit: this.#sameCommit(append, call) })),
      call,
    );
  }

  /** Refreshes the states outside a transaction before each attempt, so that the transaction has little to fold. */
  async #appendAfterRefresh(append: RunAppend, call: EngineCall): Promise<Outcome> {
    const view = this.#viewOf(append.run.tenantId);
    for (let attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
      for (const { projection } of this.#projections) await refresh(projection, view, append.run, call);
      refuseIfOver(call);
      const [outcome] = await this.#appendOnce([append], call);
      if (!(outcome instanceof StateOutOfStep)) return outcome!;
    }
    const name = JSON.stringify(append.run.runId);
    throw new TidemarkError(
      'OVERLOADED',
      `Others append to run ${name} faster than its states can follow; nothing was written. Let them name its projections too`,
      { runId: append.run.runId },
    );
  }

  /** Refreshes the states if all events are duplicates: they may have been stored without these projections. */
  async #refreshForDuplicates(run: RunKey, placed: readonly SequencedEvent[], call: EngineCall): Promise<void> {
    if (placed.some(({ duplicateOf }) => duplicateOf === null)) return;
    const last = Math.max(...placed.map(({ runSeq }) => runSeq));
    const view = this.#viewOf(run.tenantId);
    const keys = this.#projections.map(({ handlers }) => keyOf(handlers, run));
    const [records, position] = await Promise.all([
      view.kv.getMany(keys, remainingTime(call)),
      view.runs.position(run.runId, remainingTime(call)),
    ]);
    const needed = { lastEventSeq: last, rewrites: position?.rewrites ?? 0 };
    for (const [at, { projection }] of this.#projections.entries())
      if (!isUpToDate(records[at], needed)) await refresh(projection, view, run, call);
  }

  #sameCommit(append: RunAppend, call: EngineCall): SameCommitWrites {
    const { run } = append;
    const { payloads, limits, deadlines } = this.#context;
    const storage: StateStorage = { tenantId: run.tenantId, payloads, maxBytes: limits.fieldBytes };
    const names = this.#projections.map(
      ({ handlers }): RecordName => ({ space: 'kv', tenantId: run.tenantId, key: keyOf(handlers, run) }),
    );
    return {
      names,
      writes: async (placed, found, { rewrites, read }) => {
        const stored = found.map((record, at) => {
          const state = parseState(storage, names[at]!.key, record && kvRecordOf(record));
          return state?.rewrites === rewrites ? state : null;
        });
        const added = addedEvents(append, placed);
        const missing = await readMissing(run, stored, added[0]!.runSeq, read);
        const folding = this.#fold(run, stored, [...missing, ...added]);
        // A schema that never resolves must not keep the transaction open.
        const folds = await deadlines.race(folding, call, null);
        return folds.map((fold, at) => writeOf(storage, names[at]!, { run, rewrites }, fold, found[at]!));
      },
    };
  }

  async #fold(
    run: RunKey,
    stored: readonly (StoredState | null)[],
    events: readonly FoldedEvent[],
  ): Promise<ProjectionFold[]> {
    const folds: ProjectionFold[] = [];
    for (const [at, { handlers }] of this.#projections.entries()) {
      const fold = new ProjectionFold(handlers, stored[at]!);
      for (const event of events) {
        if (event.runSeq <= fold.lastEventSeq) continue;
        const taken = fold.apply(recordOf(this.#context.payloads, run, event));
        if (taken) await taken;
      }
      folds.push(fold);
    }
    return folds;
  }
}

function keyOf({ name, version }: Handlers, { runId }: RunKey): string {
  return stateKey(name, version, runId);
}

/** Returns the new events of an append with their sequence and time. */
function addedEvents({ events }: RunAppend, placed: readonly SequencedEvent[]): FoldedEvent[] {
  const added: FoldedEvent[] = [];
  for (const [at, { runSeq, persistedAt, duplicateOf }] of placed.entries())
    if (!duplicateOf) added.push({ ...events[at]!, runSeq, persistedAt });
  return added;
}

/** Reads and verifies the events before `firstSeq` that at least one state does not include. */
async function readMissing(
  run: RunKey,
  stored: readonly (StoredState | null)[],
  firstSeq: number,
  read: OpenLog['read'],
): Promise<StoredRunEvent[]> {
  const ends = stored.map((it) => it?.lastEventSeq ?? 0);
  const from = Math.min(...ends);
  const behind = firstSeq - 1 - from;
  if (behind > MAX_BEHIND || Math.max(...ends) >= firstSeq) throw new StateOutOfStep();
  if (behind === 0) return [];
  const page = await readLogPage(read, from, behind);
  checkPage(run, from, page);
  if (page.events.length === behind) return page.events;
  throw missingEvent(run, from + page.events.length + 1);
}

function writeOf(
  storage: StateStorage,
  name: RecordName,
  { run: { runId }, rewrites }: { run: RunKey; rewrites: number },
  { state, lastEventSeq }: ProjectionFold,
  found: StoredRecord | null,
): RecordWrite {
  const fields = fieldsOf(storage, name.key, { runId, state, lastEventSeq, rewrites });
  const set = encodeFields(fields, 'state', storage.maxBytes, { nulls: false });
  return { name, mode: 'merge', expect: { revision: found?.revision ?? 0 }, set, brief: true };
}

async function refresh(projection: Projection<unknown>, view: Store, { runId }: RunKey, call: EngineCall) {
  try {
    await projection.refresh(view, runId, remainingTime(call));
  } catch (error) {
    // The run does not exist yet. `refresh` has discarded any state stored for its id.
    if (!isTidemarkError(error, 'RUN_NOT_FOUND')) throw error;
  }
}

/** Returns call options with the time that is left of a call. */
function remainingTime({ signal, deadline }: EngineCall): CallOptions {
  return { signal, timeoutMs: deadline === undefined ? undefined : Math.max(1, deadline - Date.now()) };
}
