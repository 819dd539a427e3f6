/** `defineProjection`: a custom state per run, computed by handlers that change a draft. */
import { checkInteger } from '../checks/numbers.ts';
import { checkObject } from '../checks/text.ts';
import type { CallOptions } from '../contracts/common.ts';
import { invalidArgument, isTidemarkError } from '../contracts/errors.ts';
import type {
  ProjectedState,
  Projection,
  ProjectionDefinition,
  ProjectionHandler,
  TypedHandlers,
} from '../contracts/projections.ts';
import type { EventDefinitions, RunEventRecord } from '../contracts/run-events.ts';
import type { RunReadOptions } from '../contracts/runs.ts';
import type { EventSchemas } from '../contracts/schemas.ts';
import type { Store } from '../contracts/store.ts';
import { runNotFound } from '../runs/view.ts';
import { copyJson } from './copy.ts';
import { type Handlers, ProjectionFold } from './fold.ts';
import { activeVersion, rebuild } from './rebuild.ts';
import {
  callOptions,
  discardState,
  parseState,
  type StoredState,
  saveState,
  stateKey,
  stateStorage,
  tenantView,
} from './stored.ts';
import { readTail } from './tail.ts';

const NAME = /^[\w-]{1,100}$/;

/**
 * Defines a projection: handlers that fold the events of a run into a custom state. A handler changes the draft in
 * place or returns a new state, must be synchronous, and must keep the state plain JSON. With `events`, payloads are
 * typed and parsed by their schemas. Increase `version` when the handlers change, and run `rebuild`.
 *
 * @throws `INVALID_ARGUMENT` for an invalid definition. Folding throws `PROJECTION_FAILED` when a handler throws.
 *
 * @example
 * const Order = defineEvents({ OrderPlaced: z.object({ cents: z.number() }) });
 * const totals = defineProjection({
 *   name: 'totals',
 *   version: 1,
 *   events: Order,
 *   initial: { cents: 0 },
 *   on: {
 *     OrderPlaced(state, event) {
 *       state.cents += event.payload.cents;
 *     },
 *   },
 * });
 * await store.runs.handle('order-42', { events: Order }).append('OrderPlaced', { cents: 1299 });
 * const { state } = await totals.project(store, 'order-42');
 * console.log(state.cents); // 1299
 */
export function defineProjection<State, S extends EventSchemas>(
  definition: ProjectionDefinition<State> & {
    events: EventDefinitions<S>;
    on: TypedHandlers<NoInfer<State>, NoInfer<S>>;
  },
): Projection<State>;
export function defineProjection<State>(
  definition: ProjectionDefinition<State> & {
    on: Readonly<Record<string, ProjectionHandler<NoInfer<State>, RunEventRecord>>>;
  },
): Projection<State>;
export function defineProjection<State>(
  definition: ProjectionDefinition<State> & { events?: EventDefinitions<EventSchemas>; on: object },
): Projection<State> {
  return new DefinedProjection<State>(checkDefinition(definition));
}

function checkDefinition(
  definition: ProjectionDefinition<unknown> & { events?: EventDefinitions<EventSchemas>; on: object },
): Handlers {
  const { name, version, events, initial } = definition;
  if (typeof name !== 'string' || !NAME.test(name))
    throw invalidArgument('name', '1 to 100 of A–Z a–z 0–9 _ -', name ?? null);
  checkInteger(version, 'version', 1);
  const on = checkObject(definition.on, 'on');
  for (const [eventType, handle] of Object.entries(on))
    if (typeof handle !== 'function') throw invalidArgument(`on.${eventType}`, 'a function', handle ?? null);
  try {
    copyJson(initial);
  } catch {
    throw invalidArgument('initial', 'plain JSON', initial ?? null);
  }
  return { name, version, events, initial, on: on as Handlers['on'] };
}

/** A folded run, with the stored state it started from and the run's `rewrites` before the first event was read. */
interface Folded {
  fold: ProjectionFold;
  from: StoredState | null;
  rewrites: number;
}

export class DefinedProjection<State> implements Projection<State> {
  readonly #handlers: Handlers;

  constructor(handlers: Handlers) {
    this.#handlers = handlers;
  }

  /** Returns the definition of a projection, or `null` for a value that `defineProjection` did not create. */
  static handlersOf(it: unknown): Handlers | null {
    return it instanceof DefinedProjection ? it.#handlers : null;
  }

  get name(): string {
    return this.#handlers.name;
  }

  get version(): number {
    return this.#handlers.version;
  }

  async project(store: Store, runId: string, options: RunReadOptions & { atSeq?: number } = {}) {
    if (options.atSeq !== undefined) checkInteger(options.atSeq, 'atSeq', 1);
    const view = await this.#viewOf(store, runId, options);
    const { folded } = await this.#fold(view, runId, options);
    if (!folded) throw runNotFound(runId);
    return this.#stateOf(view, runId, folded.fold);
  }

  async get(store: Store, runId: string, options: RunReadOptions = {}) {
    const view = await tenantView(store, runId, options);
    if (!view) return null;
    const call = callOptions(options);
    const [stored, position] = await Promise.all([this.#load(view, runId, call), view.runs.position(runId, call)]);
    if (!position) return null;
    if (stored?.rewrites === position.rewrites) return this.#stateOf(view, runId, stored);
    try {
      return await this.#refresh(view, runId, options);
    } catch (error) {
      if (isTidemarkError(error, 'RUN_NOT_FOUND')) return null;
      throw error;
    }
  }

  async refresh(store: Store, runId: string, options: RunReadOptions = {}) {
    return this.#refresh(await this.#viewOf(store, runId, options), runId, options);
  }

  async #refresh(view: Store, runId: string, options: RunReadOptions) {
    const key = this.#keyOf(runId);
    const call = callOptions(options);
    for (;;) {
      const { stored, folded: found } = await this.#fold(view, runId, call);
      if (!found) {
        // The run was deleted, so its state is discarded too.
        if (stored) await discardState(view, key, stored, call);
        throw runNotFound(runId);
      }
      const { fold, from, rewrites } = found;
      const folded = fold.lastEventSeq - (from?.lastEventSeq ?? 0);
      const next = this.#stateOf(view, runId, fold);
      if (from && folded === 0) return { ...next, folded };
      // If another process stored a state first, start again from that. If the run was rewritten, fold it again.
      if (!(await saveState(view, key, { ...next, rewrites }, stored, call))) continue;
      if ((await view.runs.position(runId, call))?.rewrites === rewrites) return { ...next, folded };
    }
  }

  async blame(store: Store, runId: string, options: RunReadOptions & { atSeq?: number } = {}) {
    if (options.atSeq !== undefined) checkInteger(options.atSeq, 'atSeq', 1);
    const view = await this.#viewOf(store, runId, options);
    const { folded } = await this.#fold(view, runId, options, { blame: true });
    if (!folded) throw runNotFound(runId);
    return folded.fold.blame;
  }

  rebuild(store: Store, options: Parameters<Projection<State>['rebuild']>[1] = {}) {
    const { name, version } = this.#handlers;
    return rebuild(store, { name, version, refresh: (view, runId, call) => this.#refresh(view, runId, call) }, options);
  }

  activeVersion(store: Store, options: Parameters<Projection<State>['activeVersion']>[1] = {}) {
    return activeVersion(store, this.#handlers.name, callOptions(options));
  }

  async #load(view: Store, runId: string, call: CallOptions): Promise<StoredState | null> {
    const key = this.#keyOf(runId);
    return parseState(stateStorage(view), key, await view.kv.get(key, call));
  }

  #keyOf(runId: string): string {
    return stateKey(this.#handlers.name, this.#handlers.version, runId);
  }

  async #viewOf(store: Store, runId: string, options: RunReadOptions): Promise<Store> {
    const view = await tenantView(store, runId, options);
    if (!view) throw runNotFound(runId);
    return view;
  }

  /** Folds a run, from the stored state if that is current. `folded` is `null` for an unknown run. */
  async #fold(
    view: Store,
    runId: string,
    options: CallOptions & { atSeq?: number },
    tracking?: { blame: boolean },
  ): Promise<{ stored: StoredState | null; folded: Folded | null }> {
    const { atSeq = Number.POSITIVE_INFINITY } = options;
    const call = callOptions(options);
    for (;;) {
      // Read the state before the position, so that it is never ahead of the run.
      const stored = await this.#load(view, runId, call);
      const position = await view.runs.position(runId, call);
      if (!position) return { stored, folded: null };
      const { lastEventSeq, rewrites } = position;
      const isCurrent = stored?.rewrites === rewrites && stored.lastEventSeq <= Math.min(lastEventSeq, atSeq);
      const from = isCurrent && !tracking ? stored : null;
      const fold = new ProjectionFold(this.#handlers, from, tracking);
      await readTail(view.runs, runId, fold.lastEventSeq, { ...call, atSeq }, (event) => fold.apply(event));
      if (fold.lastEventSeq >= Math.min(lastEventSeq, atSeq)) return { stored, folded: { fold, from, rewrites } };
      // During the read, the run was removed and a shorter run was restored.
    }
  }

  #stateOf(view: Store, runId: string, { state, lastEventSeq }: { state: unknown; lastEventSeq: number }) {
    return {
      tenantId: view.info.tenantId!,
      runId,
      state: state as State,
      lastEventSeq,
    } satisfies ProjectedState<State>;
  }
}
