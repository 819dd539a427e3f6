/**
 * Inline projections: an append whose events and states are committed in one transaction. Once it is answered no reader
 * finds a state that lacks its events, and no state is stored whose events are not.
 */

import type { CallOptions } from '../contracts/common.ts';
import { invalidArgument, isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { Projection } from '../contracts/projections.ts';
import type { AppendOptions } from '../contracts/run-appends.ts';
import type { Store } from '../contracts/store.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RecordName, RecordWrite, StoredRecord } from '../engine/records.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { OpenLog, PlacedEvent, RunAppend, RunEngine, SameCommitWrites, StoredRunEvent } from '../engine/runs.ts';
import { encodeFields, recordOf as kvRecordOf } from '../kv/values.ts';
import { checkPage, missingEvent } from '../runs/chain.ts';
import { readLogPage } from '../runs/log-page.ts';
import { recordOf } from '../runs/prepare.ts';
import { refuseIfOver } from '../tools/contention.ts';
import type { StoreContext } from '../tools/context.ts';
import { DefinedProjection } from './define.ts';
import { type Handlers, ProjectionFold } from './fold.ts';
import { fieldsOf, isUpToDate, type Keeping, type KeptState, keptOf, stateKey } from './stored.ts';

/** Events that a state may be behind and still be brought up inside the transaction, where others wait for it. */
const MOST_BEHIND = 100;
const MOST_TRIES = 20;

type FoldedEvent = Omit<StoredRunEvent, 'commitIndex' | 'link'>;
type Outcome = PlacedEvent[] | Error;

/** Ends a transaction that found a state it cannot go on from; nobody outside of this file sees it. */
class StateApart extends Error {}

/** A projection whose state goes with an append. */
interface Followed {
  projection: Projection<unknown>;
  handlers: Handlers;
}

/** The projections of an append; `null` for none. */
function checkProjections(projections: unknown): Followed[] | null {
  if (projections === undefined) return null;
  const rule = 'an array of projections that defineProjection gave';
  if (!Array.isArray(projections)) throw invalidArgument('projections', rule, projections);
  const names = new Set<string>();
  const followed = projections.map((projection: unknown, at): Followed => {
    const handlers = DefinedProjection.handlersOf(projection);
    if (!handlers) throw invalidArgument(`projections[${at}]`, 'a projection that defineProjection gave', projection);
    const name = `${handlers.name} ${handlers.version}`;
    if (names.has(name)) throw invalidArgument(`projections[${at}]`, 'another name or version than those before it');
    names.add(name);
    return { projection: projection as Projection<unknown>, handlers };
  });
  return followed.length === 0 ? null : followed;
}

function inlineUnsupported(): TidemarkError {
  return new TidemarkError(
    'UNSUPPORTED',
    'This store cannot write states in the transaction of the events; let a projector keep them',
    { field: 'projections', rule: 'a capability of the store' },
  );
}

/**
 * The append of an engine with the states of the projections that the options name; `null` when they name none. `viewOf` gives
 * the view of a tenant, and is `null` where states cannot be written with their events.
 */
export function inlineAppend(
  context: StoreContext,
  engine: RunEngine,
  options: AppendOptions | undefined,
  viewOf: ((tenantId: string) => Store) | null,
): Pick<RunEngine, 'append'> | null {
  const followed = checkProjections(options?.projections);
  if (!followed) return null;
  if (options?.transaction !== undefined) throw invalidArgument('projections', 'used without a transaction');
  if (!viewOf) throw inlineUnsupported();
  return new InlineAppend(context, engine, viewOf, followed);
}

/** The append of an engine, with the states of projections beside the events. */
class InlineAppend implements Pick<RunEngine, 'append'> {
  readonly #context: StoreContext;
  readonly #engine: RunEngine;
  readonly #viewOf: (tenantId: string) => Store;
  readonly #followed: readonly Followed[];

  constructor(
    context: StoreContext,
    engine: RunEngine,
    viewOf: (tenantId: string) => Store,
    followed: readonly Followed[],
  ) {
    this.#context = context;
    this.#engine = engine;
    this.#viewOf = viewOf;
    this.#followed = followed;
  }

  async append(appends: readonly RunAppend[], call: EngineCall): Promise<Outcome[]> {
    const outcomes = await this.#appendOnce(appends, call);
    const settle = async (outcome: Outcome, at: number): Promise<Outcome> => {
      const append = appends[at]!;
      const placed = outcome instanceof StateApart ? await this.#appendApart(append, call) : outcome;
      if (!(placed instanceof Error)) await this.#followDuplicates(append.run, placed, call);
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

  /** Brings the states up outside of any transaction, so that the next one has little left to fold. */
  async #appendApart(append: RunAppend, call: EngineCall): Promise<Outcome> {
    const view = this.#viewOf(append.run.tenantId);
    for (let tries = 0; tries < MOST_TRIES; tries++) {
      for (const { projection } of this.#followed) await refresh(projection, view, append.run, call);
      refuseIfOver(call);
      const [outcome] = await this.#appendOnce([append], call);
      if (!(outcome instanceof StateApart)) return outcome!;
    }
    const name = JSON.stringify(append.run.runId);
    throw new TidemarkError(
      'OVERLOADED',
      `Others append to run ${name} faster than its states can follow; nothing was written. Let them name its projections too`,
      { runId: append.run.runId },
    );
  }

  /** Events that were stored before, without these projections perhaps, are in the states as well once this is answered. */
  async #followDuplicates(run: RunKey, placed: readonly PlacedEvent[], call: EngineCall): Promise<void> {
    if (placed.some(({ duplicateOf }) => duplicateOf === null)) return;
    const last = Math.max(...placed.map(({ runSeq }) => runSeq));
    const view = this.#viewOf(run.tenantId);
    const keys = this.#followed.map(({ handlers }) => keyOf(handlers, run));
    const [records, position] = await Promise.all([
      view.kv.getMany(keys, optionsOf(call)),
      view.runs.position(run.runId, optionsOf(call)),
    ]);
    const needed = { lastEventSeq: last, rewrites: position?.rewrites ?? 0 };
    for (const [at, { projection }] of this.#followed.entries())
      if (!isUpToDate(records[at], needed)) await refresh(projection, view, run, call);
  }

  #sameCommit(append: RunAppend, call: EngineCall): SameCommitWrites {
    const { run } = append;
    const { payloads, limits, deadlines } = this.#context;
    const keeping: Keeping = { tenantId: run.tenantId, payloads, maxBytes: limits.fieldBytes };
    const names = this.#followed.map(
      ({ handlers }): RecordName => ({ space: 'kv', tenantId: run.tenantId, key: keyOf(handlers, run) }),
    );
    return {
      names,
      writes: async (placed, found, { rewrites, read }) => {
        const kept = found.map((record, at) => {
          const state = keptOf(keeping, names[at]!.key, record && kvRecordOf(record));
          return state?.rewrites === rewrites ? state : null;
        });
        const added = addedEvents(append, placed);
        const missed = await readMissed(run, kept, added[0]!.runSeq, read);
        const folding = this.#fold(run, kept, [...missed, ...added]);
        // A schema that never answers must not keep the transaction open.
        const folds = await deadlines.race(folding, call, null);
        return folds.map((fold, at) => writeOf(keeping, names[at]!, { run, rewrites }, fold, found[at]!));
      },
    };
  }

  async #fold(
    run: RunKey,
    kept: readonly (KeptState | null)[],
    events: readonly FoldedEvent[],
  ): Promise<ProjectionFold[]> {
    const folds: ProjectionFold[] = [];
    for (const [at, { handlers }] of this.#followed.entries()) {
      const fold = new ProjectionFold(handlers, kept[at]!);
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

/** The events of an append that are new, as they now stand in the log. */
function addedEvents({ events }: RunAppend, placed: readonly PlacedEvent[]): FoldedEvent[] {
  const added: FoldedEvent[] = [];
  for (const [at, { runSeq, persistedAt, duplicateOf }] of placed.entries())
    if (!duplicateOf) added.push({ ...events[at]!, runSeq, persistedAt });
  return added;
}

/** The events before `firstSeq` that one of the states lacks, verified like any that are read. */
async function readMissed(
  run: RunKey,
  kept: readonly (KeptState | null)[],
  firstSeq: number,
  read: OpenLog['read'],
): Promise<StoredRunEvent[]> {
  const ends = kept.map((it) => it?.lastEventSeq ?? 0);
  const from = Math.min(...ends);
  const behind = firstSeq - 1 - from;
  if (behind > MOST_BEHIND || Math.max(...ends) >= firstSeq) throw new StateApart();
  if (behind === 0) return [];
  const page = await readLogPage(read, from, behind);
  checkPage(run, from, page);
  if (page.events.length === behind) return page.events;
  throw missingEvent(run, from + page.events.length + 1);
}

function writeOf(
  keeping: Keeping,
  name: RecordName,
  { run: { runId }, rewrites }: { run: RunKey; rewrites: number },
  { state, lastEventSeq }: ProjectionFold,
  found: StoredRecord | null,
): RecordWrite {
  const fields = fieldsOf(keeping, name.key, { runId, state, lastEventSeq, rewrites });
  const set = encodeFields(fields, 'state', keeping.maxBytes, { nulls: false });
  return { name, mode: 'merge', expect: { revision: found?.revision ?? 0 }, set, brief: true };
}

async function refresh(projection: Projection<unknown>, view: Store, { runId }: RunKey, call: EngineCall) {
  try {
    await projection.refresh(view, runId, optionsOf(call));
  } catch (error) {
    // The run has not begun: what was kept for its id is gone now.
    if (!isTidemarkError(error, 'RUN_NOT_FOUND')) throw error;
  }
}

/** What is left of a call's time, for a call of our own. */
function optionsOf({ signal, deadline }: EngineCall): CallOptions {
  return { signal, timeoutMs: deadline === undefined ? undefined : Math.max(1, deadline - Date.now()) };
}
