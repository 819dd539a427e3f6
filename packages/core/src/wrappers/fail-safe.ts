/**
 * `withFailSafe`: for runtimes that must never stop because their store does (GEN-1). What fails is counted and reported, and
 * the caller gets what the method gives when there is nothing. Calls whose answer decides something still throw.
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

/** One failure that was kept from the caller. */
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
  /** Told of each failure. What it throws is ignored. */
  onError?: (failure: StoreFailure) => void;
  /** Gets each failure as an error line; pino fits. */
  logger?: Pick<Logger, 'error'>;
}

/** A handle whose appends give `null` when they fail. */
export interface FailSafeHandle extends Omit<RunHandle, 'append'> {
  append(...args: Parameters<RunHandle['append']>): Promise<AppendResult | null>;
}

/** Appends give `null` when they fail. */
export interface FailSafeRuns extends Omit<RunStore, 'appendEvent' | 'appendEvents' | 'handle'> {
  appendEvent(event: RunEventInput, options?: AppendOptions): Promise<AppendResult | null>;
  appendEvents(events: readonly RunEventInput[], options?: AppendOptions): Promise<(AppendResult | null)[]>;
  /** With `events`, payloads are checked; what does not fit is refused as always. */
  handle(runId: string, defaults?: HandleDefaults): FailSafeHandle;
}

export interface FailSafeStore extends Omit<Store, 'runs' | 'forTenant'> {
  readonly runs: FailSafeRuns;
  /** How many calls failed since the store was wrapped, those of its views included. */
  readonly failures: Readonly<{ saves: number; loads: number }>;
  forTenant(tenantId: string): FailSafeStore;
}

/**
 * A store whose saves and loads do not throw. Runs: appends give `null`, reads nothing. Agents: all saves and reads, but
 * for pauses, which are saved, loaded, claimed, confirmed and released as always. Not changed: `kv` and `jobs`, conditional
 * writes (`expectedSeq`, `expectedVersion`, `projections`, a transaction), removals, and what stores artifacts: there, an
 * invented answer would lose or double something.
 *
 * @example
 * const store = withFailSafe(await open(url), { logger: pino() });
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
    const nothing = substituteFor(call);
    if (!nothing) return proceed();
    try {
      return await proceed();
    } catch (error) {
      this.#report(call, error);
      return nothing(call.args);
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
      this.#options.logger?.error(line, `${method} failed; the runtime goes on without it`);
      this.#options.onError?.(failure);
    } catch {
      // A reporter that fails must not bring down what the wrapper is there to keep up.
    }
  }
}

/** What the call gives when it fails; nothing for one that throws, as a conditional write does. */
function substituteFor(call: StoreCall): CallFacts['nothing'] {
  const facts = factsOf(call);
  if (facts.kind === 'handle') return undefined;
  const options = Object(call.args[facts.options]);
  const conditions = facts.kind === 'write' ? (facts.conditions ?? []) : [];
  return conditions.some((name) => options[name] !== undefined) ? undefined : facts.nothing;
}

/** Names the call without showing what was stored; the first argument of a call says whom it is about. */
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
