/**
 * `withFailSafe`: for runtimes that must keep running when their store fails (GEN-1). Failures are counted and
 * reported, and the call returns the method's empty result. Calls still throw if an empty result could be mistaken for
 * a real one.
 */

import { type CallFacts, factsOf } from '../contracts/calls.ts';
import type { AppendOptions, AppendResult } from '../contracts/run-appends.ts';
import type { RunEventInput } from '../contracts/run-events.ts';
import type { RunHandle } from '../contracts/run-handle.ts';
import type { RunStore } from '../contracts/runs.ts';
import type { Store } from '../contracts/store.ts';
import type { HandleDefaults } from '../runs/handle.ts';
import type { Logger } from '../telemetry/ports.ts';
import { InterceptedStore, type Interceptor, type StoreCall } from './intercept.ts';

/** A failure that was reported instead of thrown. */
export interface StoreFailure {
  event: 'statestore_save_failed' | 'statestore_load_failed';
  /** `runs.appendEvent`, `agents.saveEvent`, … */
  method: string;
  runId?: string;
  traceId?: string;
  sessionId?: string;
  error: unknown;
}

export interface FailSafeOptions {
  /** Called for each failure. Errors that it throws are ignored. */
  onError?: (failure: StoreFailure) => void;
  /** Receives each failure as an error line, for example pino. */
  logger?: Pick<Logger, 'error'>;
}

/** A run handle whose appends return `null` when they fail. */
export interface FailSafeHandle extends Omit<RunHandle, 'append'> {
  append(...args: Parameters<RunHandle['append']>): Promise<AppendResult | null>;
}

/** A run store whose appends return `null` when they fail. */
export interface FailSafeRuns extends Omit<RunStore, 'appendEvent' | 'appendEvents' | 'handle'> {
  appendEvent(event: RunEventInput, options?: AppendOptions): Promise<AppendResult | null>;
  appendEvents(events: readonly RunEventInput[], options?: AppendOptions): Promise<(AppendResult | null)[]>;
  /**
   * Returns a handle on a run. With `events`, a payload that does not fit its schema still throws `INVALID_PAYLOAD`.
   */
  handle(runId: string, defaults?: HandleDefaults): FailSafeHandle;
}

export interface FailSafeStore extends Omit<Store, 'runs' | 'forTenant'> {
  readonly runs: FailSafeRuns;
  /** The number of calls that have failed since the store was wrapped, including calls on its views. */
  readonly failures: Readonly<{ saves: number; loads: number }>;
  forTenant(tenantId: string): FailSafeStore;
}

/**
 * Wraps a store so that saves and loads do not throw. Failed appends to runs return `null`, and failed reads of runs,
 * agents and artifacts return an empty result. Failed saves of agents resolve.
 *
 * These calls still throw, because an invented result would lose or duplicate data: `kv`, `jobs`, conditional writes
 * (`expectedSeq`, `expectedVersion`, `projections`, a transaction), removals, calls that store artifacts, and calls
 * that save, load, claim, confirm or release a pause. `projectSnapshot` and `verify` throw too.
 *
 * @example
 * const store = withFailSafe(await open('sqlite:app.db'), { logger: pino() });
 * const result = await store.runs.handle('order-42').append('RunStarted');
 * if (result === null) console.log('not stored', store.failures.saves);
 */
export function withFailSafe(store: Store, options: FailSafeOptions = {}): FailSafeStore {
  return wrap(store, new FailureGuard(options));
}

function wrap(store: Store, guard: FailureGuard): FailSafeStore {
  const safe = new InterceptedStore(store, guard);
  const members = { failures: guard.failures, forTenant: (tenantId: string) => wrap(store.forTenant(tenantId), guard) };
  return Object.assign(safe, members) as unknown as FailSafeStore;
}

class FailureGuard implements Interceptor {
  readonly failures = { saves: 0, loads: 0 };
  readonly #options: FailSafeOptions;

  constructor(options: FailSafeOptions) {
    this.#options = options;
  }

  async call(call: StoreCall, proceed: () => Promise<unknown>): Promise<unknown> {
    const emptyResult = substituteFor(call);
    if (!emptyResult) return proceed();
    try {
      return await proceed();
    } catch (error) {
      this.#report(call, error);
      return emptyResult(call.args);
    }
  }

  async *iterate(call: StoreCall, proceed: () => AsyncIterable<unknown>): AsyncIterable<unknown> {
    if (!substituteFor(call)) return yield* proceed();
    try {
      yield* proceed();
    } catch (error) {
      this.#report(call, error);
    }
  }

  #report(call: StoreCall, error: unknown): void {
    const kind = factsOf(call).kind === 'write' ? 'save' : 'load';
    this.failures[`${kind}s`]++;
    const failure: StoreFailure = { event: `statestore_${kind}_failed`, ...describe(call), error };
    try {
      const { event, method, runId, traceId, sessionId } = failure;
      const exception = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
      const line = { event, method, run_id: runId, trace_id: traceId, session_id: sessionId, exception };
      this.#options.logger?.error(line, `${method} failed; continuing without it`);
      this.#options.onError?.(failure);
    } catch {
      // A failing reporter must not make the call fail.
    }
  }
}

/** Returns the function that makes the call's empty result, or `undefined` when the call must throw. */
function substituteFor(call: StoreCall): CallFacts['nothing'] {
  const facts = factsOf(call);
  if (facts.kind === 'handle') return undefined;
  const options = Object(call.args[facts.options]);
  const conditions = facts.kind === 'write' ? (facts.conditions ?? []) : [];
  return conditions.some((name) => options[name] !== undefined) ? undefined : facts.nothing;
}

/** Describes the call without its payload, using the ids in its first argument. */
function describe(call: StoreCall): Omit<StoreFailure, 'event' | 'error'> {
  const { domain, method, args } = call;
  const subject: Record<string, unknown> =
    typeof args[0] === 'object' && args[0] !== null ? { ...(Array.isArray(args[0]) ? args[0][0] : args[0]) } : {};
  const facts = factsOf(call);
  const idOf = (name: NonNullable<typeof facts.first>) => {
    const id = subject[name] ?? (facts.first === name ? args[0] : undefined);
    return typeof id === 'string' ? id : undefined;
  };
  return {
    method: `${domain}.${method}`,
    runId: idOf('runId'),
    traceId: idOf('traceId'),
    sessionId: idOf('sessionId'),
  };
}
