/**
 * `failSafe`: for runtimes that must never stop because their store does (GEN-1). What fails is counted and reported, and
 * the caller gets what the method gives when there is nothing. Calls whose answer decides something still throw.
 */

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
 * writes (`expectedSeq`, `ifVersion`, `projections`, a transaction), removals, and what stores artifacts: there, an
 * invented answer would lose or double something.
 *
 * @example
 * const store = failSafe(await open(url), { logger: pino() });
 */
export function failSafe(store: Store, options: FailSafeOptions = {}): FailSafeStore {
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
    const answer = substituteFor(call);
    if (!answer) return proceed();
    try {
      return await proceed();
    } catch (error) {
      this.#report(call, answer.kind, error);
      return answer.nothing(call.args);
    }
  }

  async *iterate(call: StoreCall, proceed: () => AsyncIterable<unknown>): AsyncIterable<unknown> {
    if (call.domain === 'kv') return yield* proceed();
    try {
      yield* proceed();
    } catch (error) {
      this.#report(call, 'load', error);
    }
  }

  #report(call: StoreCall, kind: 'save' | 'load', error: unknown): void {
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

type Substitute = { kind: 'save' | 'load'; nothing: (args: readonly unknown[]) => unknown };

const save = (value?: unknown): Substitute => ({ kind: 'save', nothing: () => value });
const load = (nothing: (args: readonly unknown[]) => unknown): Substitute => ({ kind: 'load', nothing });
const none = load(() => null);
const list = load(() => []);
const page = load(() => ({ items: [] }));
const sessionPage = load(() => ({ items: [], cursorFound: false }));

/** What each call gives when it fails; a call that is not here throws. */
const SUBSTITUTES: Partial<Record<string, Substitute>> = {
  'runs.appendEvent': save(null),
  'runs.appendEvents': { kind: 'save', nothing: ([events]) => (events as unknown[]).map(() => null) },
  'runs.fetchEvents': list,
  'runs.getSnapshot': none,
  'runs.headSeq': load(() => 0),
  'runs.position': none,
  'runs.listRuns': page,
  'runs.listQuarantined': page,
  // The cursor stays where it was: without it a reader would begin again.
  'runs.feedPage': load(([options]) => {
    const after = (options as { after?: string } | undefined)?.after;
    return after === undefined ? { items: [] } : { items: [], next: after };
  }),
  'agents.saveEvent': save(),
  'agents.saveEvents': save(),
  'agents.loadHistory': list,
  'agents.saveRemoteBinding': save(),
  'agents.listRemoteBindings': list,
  'agents.peekPlannerState': none,
  'agents.listPauses': page,
  'agents.saveMemoryState': save({ version: 0 }),
  'agents.loadMemoryState': none,
  'agents.getMemoryRecord': none,
  'agents.listMemory': page,
  'agents.saveTask': save(),
  'agents.listTasks': list,
  'agents.saveUpdate': save(),
  'agents.listUpdates': list,
  'agents.listUpdatesPage': sessionPage,
  'agents.saveSteering': save(),
  'agents.listSteering': list,
  'agents.listSteeringPage': sessionPage,
  'agents.saveTrajectory': save(),
  'agents.getTrajectory': none,
  'agents.listTraces': list,
  'agents.savePlannerEvent': save(),
  'agents.listPlannerEvents': list,
  'agents.listSessions': page,
  'artifacts.get': none,
  'artifacts.getStream': none,
  'artifacts.getRef': none,
  'artifacts.exists': load(() => false),
  'artifacts.list': page,
};

/** What makes an append one that may be refused for what is stored, or for what its handlers say. */
const APPEND_CONDITIONS = ['expectedSeq', 'transaction', 'rejectInvalidTransitions', 'projections'] as const;

/** Where the options of conditional writes stand, and what makes them conditional. */
const CONDITIONS: Partial<Record<string, { at: number; names: readonly string[] }>> = {
  'runs.appendEvent': { at: 1, names: APPEND_CONDITIONS },
  'runs.appendEvents': { at: 1, names: APPEND_CONDITIONS },
  'agents.saveMemoryState': { at: 2, names: ['ifVersion'] },
};

function substituteFor({ domain, method, args }: StoreCall): Substitute | undefined {
  const call = `${domain}.${method}`;
  const condition = CONDITIONS[call];
  const options = Object(condition && args[condition.at]);
  return condition?.names.some((name) => options[name] !== undefined) ? undefined : SUBSTITUTES[call];
}

/** Names the call without showing what was stored; the first argument of a call says whom it is about. */
function describe({ domain, method, args }: StoreCall): Omit<StoreFailure, 'event' | 'error'> {
  const subject: Record<string, unknown> =
    typeof args[0] === 'object' && args[0] !== null ? { ...(Array.isArray(args[0]) ? args[0][0] : args[0]) } : {};
  const [named] = args;
  const text = (value: unknown) => (typeof value === 'string' ? value : undefined);
  return {
    method: `${domain}.${method}`,
    runId: text(subject.runId) ?? (domain === 'runs' ? text(named) : undefined),
    traceId: text(subject.traceId) ?? (TRACE_FIRST.has(method) ? text(named) : undefined),
    sessionId: text(subject.sessionId) ?? (SESSION_FIRST.has(method) ? text(named) : undefined),
  };
}

const TRACE_FIRST = new Set([
  ...['loadHistory', 'readHistory', 'listRemoteBindings', 'saveTrajectory', 'getTrajectory'],
  ...['savePlannerEvent', 'listPlannerEvents', 'readPlannerEvents'],
]);
const SESSION_FIRST = new Set([
  ...['listTasks', 'readTasks', 'listUpdates', 'listUpdatesPage', 'tailUpdates'],
  ...['listSteering', 'listSteeringPage', 'listTraces'],
]);
