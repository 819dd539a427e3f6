/** `defineProjection`: state of one's own per run, by handlers that change a draft. */
import { checkInteger } from '../checks/numbers.ts';
import { checkObject } from '../checks/text.ts';
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
import { callOf, type KeptState, keep, keepingOf, keptOf, stateKey, tenantView } from './stored.ts';
import { readTail } from './tail.ts';

const NAME = /^[\w-]{1,100}$/;

/**
 * A projection of typed events, or of events as they are.
 *
 * @example
 * const orders = defineProjection({
 *   name: 'orders', version: 1, events: Order, initial: { cents: 0 },
 *   on: { OrderPlaced(state, event) { state.cents += event.payload.cents; } },
 * });
 * const { state } = await orders.project(store, 'order-42');
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

export class DefinedProjection<State> implements Projection<State> {
  readonly #handlers: Handlers;

  constructor(handlers: Handlers) {
    this.#handlers = handlers;
  }

  /** What a projection is made of; `null` for anything that `defineProjection` did not make. */
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
    const atSeq = options.atSeq === undefined ? Number.POSITIVE_INFINITY : checkInteger(options.atSeq, 'atSeq', 1);
    const view = await this.#viewOf(store, runId, options);
    const kept = await this.#load(view, runId, options);
    const fold = await this.#fold(view, runId, kept && kept.lastEventSeq <= atSeq ? kept : null, options);
    if (!fold) throw runNotFound(runId);
    return this.#stateOf(view, runId, fold);
  }

  async get(store: Store, runId: string, options: RunReadOptions = {}) {
    const view = await tenantView(store, runId, options);
    const kept = view && (await this.#load(view, runId, options));
    if (kept) return this.#stateOf(view, runId, kept);
    if (!view) return null;
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
    const call = callOf(options);
    let kept = await this.#load(view, runId, options);
    for (;;) {
      const fold = await this.#fold(view, runId, kept, options);
      if (!fold) {
        // The state of a run that was deleted goes with it.
        if (kept) await view.kv.delete(key, call);
        throw runNotFound(runId);
      }
      const from = kept && kept.lastEventSeq <= fold.lastEventSeq ? kept.lastEventSeq : 0;
      const folded = fold.lastEventSeq - from;
      const next = this.#stateOf(view, runId, fold);
      if (folded === 0) return { ...next, folded };
      const other = await keep(view, key, next, kept, call);
      if (!other) return { ...next, folded };
      // Another was faster: what it stored is as good when it is as far, and is folded on when it is not.
      kept = other;
      if (kept.lastEventSeq >= fold.lastEventSeq) return { ...this.#stateOf(view, runId, kept), folded: 0 };
    }
  }

  async blame(store: Store, runId: string, options: RunReadOptions & { atSeq?: number } = {}) {
    const fold = await this.#fold(store, runId, null, options, { blame: true });
    if (!fold) throw runNotFound(runId);
    return fold.blame;
  }

  rebuild(store: Store, options: Parameters<Projection<State>['rebuild']>[1] = {}) {
    const { name, version } = this.#handlers;
    return rebuild(store, { name, version, refresh: (view, runId, call) => this.#refresh(view, runId, call) }, options);
  }

  activeVersion(store: Store, options: Parameters<Projection<State>['activeVersion']>[1] = {}) {
    return activeVersion(store, this.#handlers.name, callOf(options));
  }

  async #load(view: Store, runId: string, options: RunReadOptions): Promise<KeptState | null> {
    const key = this.#keyOf(runId);
    return keptOf(keepingOf(view), key, await view.kv.get(key, callOf(options)));
  }

  #keyOf(runId: string): string {
    return stateKey(this.#handlers.name, this.#handlers.version, runId);
  }

  async #viewOf(store: Store, runId: string, options: RunReadOptions): Promise<Store> {
    const view = await tenantView(store, runId, options);
    if (!view) throw runNotFound(runId);
    return view;
  }

  /** The state with what is new folded in; `null` when there is no such run, or not any more. */
  async #fold(
    store: Store,
    runId: string,
    kept: KeptState | null,
    options: RunReadOptions & { atSeq?: number },
    noticing?: { blame: boolean },
  ): Promise<ProjectionFold | null> {
    const fold = new ProjectionFold(this.#handlers, kept, noticing);
    await readTail(store.runs, runId, fold.lastEventSeq, options, (event) => fold.apply(event));
    if (!kept || fold.lastEventSeq > kept.lastEventSeq) return fold.lastEventSeq > 0 ? fold : null;
    const head = await store.runs.headSeq(runId, callOf(options));
    // A log only grows: what was folded further than it goes was another one, from before an older run was restored.
    if (head > 0 && head < kept.lastEventSeq) return this.#fold(store, runId, null, options, noticing);
    return head > 0 ? fold : null;
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
