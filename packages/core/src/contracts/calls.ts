/**
 * A table of every call of a store. Wrappers, errors and servers use it to find out which calls write, how to retry a
 * write whose reply was lost, and which argument contains the options. The code does not compile if a call has no
 * entry.
 */
import type { Store } from './store.ts';

/** A part of a store that has its own calls. */
export type StoreDomain = 'runs' | 'kv' | 'jobs' | 'agents' | 'artifacts' | 'admin';

/** The names of the calls of a domain. */
export type MethodOf<D extends StoreDomain> = keyof Store[D] & string;

/** The arguments of a call. */
export type CallArgs<D extends StoreDomain, M extends MethodOf<D>> = Store[D][M] extends (...args: infer A) => unknown
  ? A
  : never;

/**
 * Why a write is safe to retry.
 *
 * - `itself`: a retry changes nothing and returns the first result. Events have keys, updates have ids, bytes have a
 *   hash, a claim has its id.
 * - `state`: a retry changes nothing, but its result describes the current state. If the first attempt deleted the run,
 *   `deleteRun` returns false.
 * - `requestId`, `claimId`: this option makes the write safe to retry. Without it the write is not.
 */
export type SettledBy = 'itself' | 'state' | 'requestId' | 'claimId';

/**
 * The first argument of some writes, which errors never contain, because the token of a pause is secret and a stream
 * can be read only once.
 */
export type WithheldArgument = 'token' | 'chunks' | 'parts';

/** Facts that all calls have. `At` is the index of the options among the arguments. */
interface CommonFacts<At> {
  options: At;
  /** The kind of id in the first argument. */
  first?: 'runId' | 'traceId' | 'sessionId';
  /** The call reads or deletes flow or planner events, so batched events must be stored first. */
  afterEvents?: true;
  /** Creates the value that `withFailSafe` returns when the call fails. If absent, the call still throws. */
  nothing?: (args: readonly unknown[]) => unknown;
}

interface ReadFacts<At> extends CommonFacts<At> {
  /** `read` returns a promise, `iterate` an async iterable. */
  kind: 'read' | 'iterate';
}

interface WriteFacts<At> extends CommonFacts<At> {
  kind: 'write';
  settledBy: SettledBy;
  /** The index of the argument with the member that `settledBy` names. Default: the options. */
  settledAt?: number;
  withholds?: WithheldArgument;
  /** Options that make the write conditional on the stored state. */
  conditions?: readonly string[];
  /** Stores one event, or as many as the first argument has. */
  events?: 'one' | 'many';
  /** Changes the number of runs or bytes of a tenant. */
  counted?: true;
}

/** The facts of a call that returns a handle. The handle calls the store. */
interface HandleFacts extends Partial<CommonFacts<undefined>> {
  kind: 'handle';
}

/** The facts of a call. */
export type CallFacts<At = number> = ReadFacts<At> | WriteFacts<At> | HandleFacts;

/** The index of the argument that has a signal. */
type OptionsAt<Args extends readonly unknown[]> = {
  [At in keyof Args]: 'signal' extends keyof NonNullable<Args[At]>
    ? At extends `${infer N extends number}`
      ? N
      : never
    : never;
}[number];

type Described = {
  [D in StoreDomain]: { [M in MethodOf<D>]: CallFacts<OptionsAt<Required<CallArgs<D, M>>>> };
};

const toNull = () => null;
const toVoid = () => undefined;
const toList = () => [];
const toPage = () => ({ items: [] });
const toSessionPage = () => ({ items: [], cursorFound: false });

const APPEND_CONDITIONS = ['expectedSeq', 'life', 'transaction', 'rejectInvalidTransitions', 'projections'] as const;

/** The facts of every call, by domain. */
export const CALLS = {
  runs: {
    appendEvent: {
      kind: 'write',
      options: 1,
      settledBy: 'itself',
      conditions: APPEND_CONDITIONS,
      events: 'one',
      counted: true,
      nothing: toNull,
    },
    appendEvents: {
      kind: 'write',
      options: 1,
      settledBy: 'itself',
      conditions: APPEND_CONDITIONS,
      events: 'many',
      counted: true,
      nothing: ([events]) => (events as unknown[]).map(() => null),
    },
    fetchEvents: { kind: 'read', options: 1, first: 'runId', nothing: toList },
    readEvents: { kind: 'iterate', options: 1, first: 'runId', nothing: toVoid },
    tail: { kind: 'iterate', options: 1, first: 'runId', nothing: toVoid },
    getSnapshot: { kind: 'read', options: 1, first: 'runId', nothing: toNull },
    projectSnapshot: { kind: 'read', options: 1, first: 'runId' },
    refreshSnapshot: { kind: 'write', options: 1, first: 'runId', settledBy: 'itself' },
    markStale: { kind: 'write', options: 1, first: 'runId', settledBy: 'itself' },
    forkRun: { kind: 'write', options: 1, first: 'runId', settledBy: 'itself', counted: true },
    listRuns: { kind: 'read', options: 0, nothing: toPage },
    countRuns: { kind: 'read', options: 0, nothing: () => ({ count: 0, exact: false }) },
    headSeq: { kind: 'read', options: 1, first: 'runId', nothing: () => 0 },
    position: { kind: 'read', options: 1, first: 'runId', nothing: toNull },
    verify: { kind: 'read', options: 1, first: 'runId' },
    listQuarantined: { kind: 'read', options: 0, nothing: toPage },
    releaseRun: { kind: 'write', options: 1, first: 'runId', settledBy: 'state' },
    deleteExpired: { kind: 'write', options: 0, settledBy: 'state', counted: true },
    deleteRun: { kind: 'write', options: 1, first: 'runId', settledBy: 'state', counted: true },
    // No `nothing`, because an export that ends early could be mistaken for the whole run.
    exportRun: { kind: 'iterate', options: 1, first: 'runId' },
    restoreRun: { kind: 'write', options: 1, settledBy: 'itself', withholds: 'parts', counted: true },
    archiveRun: { kind: 'write', options: 1, first: 'runId', settledBy: 'state', counted: true },
    archiveLocation: { kind: 'read', options: 1, first: 'runId' },
    redactEvent: { kind: 'write', options: 2, first: 'runId', settledBy: 'itself' },
    feed: { kind: 'iterate', options: 0, nothing: toVoid },
    feedPage: {
      kind: 'read',
      options: 0,
      // Keeps the cursor, because without it a reader would start again from the beginning.
      nothing: ([options]) => {
        const { cursor } = Object(options) as { cursor?: string };
        return cursor === undefined ? { items: [] } : { items: [], next: cursor };
      },
    },
    handle: { kind: 'handle' },
  },

  kv: {
    get: { kind: 'read', options: 1 },
    getMany: { kind: 'read', options: 1 },
    put: { kind: 'write', options: 2, settledBy: 'requestId' },
    delete: { kind: 'write', options: 1, settledBy: 'requestId' },
    getField: { kind: 'read', options: 2 },
    setField: { kind: 'write', options: 3, settledBy: 'requestId' },
    setFields: { kind: 'write', options: 2, settledBy: 'requestId' },
    compareAndSwap: { kind: 'write', options: 4, settledBy: 'requestId' },
    swap: { kind: 'write', options: 2, settledBy: 'requestId', settledAt: 1 },
    batch: { kind: 'write', options: 1, settledBy: 'requestId' },
    touch: { kind: 'write', options: 2, settledBy: 'requestId' },
    scan: { kind: 'iterate', options: 2 },
    scanPage: { kind: 'read', options: 1 },
    count: { kind: 'read', options: 1 },
    deletePrefix: { kind: 'write', options: 1, settledBy: 'state' },
    watch: { kind: 'iterate', options: 1 },
  },

  jobs: {
    enqueue: { kind: 'write', options: 1, settledBy: 'itself' },
    get: { kind: 'read', options: 1 },
    claim: { kind: 'write', options: 1, settledBy: 'claimId' },
    heartbeat: { kind: 'write', options: 1, settledBy: 'itself' },
    progress: { kind: 'write', options: 2, settledBy: 'itself' },
    complete: { kind: 'write', options: 2, settledBy: 'itself' },
    fail: { kind: 'write', options: 2, settledBy: 'itself' },
    park: { kind: 'write', options: 2, settledBy: 'itself' },
    wake: { kind: 'write', options: 1, settledBy: 'requestId' },
    cancel: { kind: 'write', options: 1, settledBy: 'itself' },
    requeue: { kind: 'write', options: 1, settledBy: 'requestId' },
    list: { kind: 'read', options: 1 },
    types: { kind: 'read', options: 1 },
    overdue: { kind: 'read', options: 1 },
    recover: { kind: 'write', options: 1, settledBy: 'requestId' },
    markAnnounced: { kind: 'write', options: 1, settledBy: 'itself' },
  },

  agents: {
    saveEvent: { kind: 'write', options: 1, settledBy: 'itself', events: 'one', nothing: toVoid },
    saveEvents: {
      kind: 'write',
      options: 1,
      settledBy: 'itself',
      events: 'many',
      afterEvents: true,
      nothing: toVoid,
    },
    loadHistory: { kind: 'read', options: 1, first: 'traceId', afterEvents: true, nothing: toList },
    readHistory: { kind: 'iterate', options: 1, first: 'traceId', afterEvents: true, nothing: toVoid },
    saveRemoteBinding: { kind: 'write', options: 1, settledBy: 'itself', nothing: toVoid },
    listRemoteBindings: { kind: 'read', options: 1, first: 'traceId', nothing: toList },
    findBinding: { kind: 'read', options: 1, nothing: toNull },
    listBindings: { kind: 'read', options: 1, nothing: toList },
    markBindingTerminal: { kind: 'write', options: 1, settledBy: 'state', nothing: () => false },
    savePlannerState: { kind: 'write', options: 2, settledBy: 'state', withholds: 'token' },
    loadPlannerState: { kind: 'write', options: 1, settledBy: 'requestId', withholds: 'token' },
    claimPause: { kind: 'write', options: 1, settledBy: 'requestId', withholds: 'token' },
    confirmPause: { kind: 'write', options: 2, settledBy: 'state', withholds: 'token' },
    releasePause: { kind: 'write', options: 2, settledBy: 'state', withholds: 'token' },
    peekPause: { kind: 'read', options: 1, nothing: toNull },
    listPauses: { kind: 'read', options: 0, nothing: toPage },
    saveMemoryState: {
      kind: 'write',
      options: 2,
      settledBy: 'requestId',
      conditions: ['expectedVersion'],
      nothing: () => ({ version: 0 }),
    },
    loadMemoryState: { kind: 'read', options: 1, nothing: toNull },
    getMemoryRecord: { kind: 'read', options: 1, nothing: toNull },
    listMemory: { kind: 'read', options: 0, nothing: toPage },
    deleteMemoryState: { kind: 'write', options: 1, settledBy: 'requestId' },
    saveTask: { kind: 'write', options: 1, settledBy: 'itself', nothing: toVoid },
    listTasks: { kind: 'read', options: 1, first: 'sessionId', nothing: toList },
    readTasks: { kind: 'iterate', options: 1, first: 'sessionId', afterEvents: true, nothing: toVoid },
    saveUpdate: { kind: 'write', options: 1, settledBy: 'itself', events: 'one', nothing: toVoid },
    listUpdates: { kind: 'read', options: 1, first: 'sessionId', nothing: toList },
    listUpdatesPage: { kind: 'read', options: 1, first: 'sessionId', nothing: toSessionPage },
    tailUpdates: { kind: 'iterate', options: 1, first: 'sessionId', afterEvents: true, nothing: toVoid },
    saveSteering: { kind: 'write', options: 1, settledBy: 'itself', events: 'one', nothing: toVoid },
    listSteering: { kind: 'read', options: 1, first: 'sessionId', nothing: toList },
    listSteeringPage: { kind: 'read', options: 1, first: 'sessionId', nothing: toSessionPage },
    saveTrajectory: { kind: 'write', options: 3, first: 'traceId', settledBy: 'itself', nothing: toVoid },
    getTrajectory: { kind: 'read', options: 2, first: 'traceId', nothing: toNull },
    listTraces: { kind: 'read', options: 2, first: 'sessionId', nothing: toList },
    savePlannerEvent: {
      kind: 'write',
      options: 2,
      first: 'traceId',
      settledBy: 'itself',
      events: 'one',
      nothing: toVoid,
    },
    listPlannerEvents: { kind: 'read', options: 1, first: 'traceId', afterEvents: true, nothing: toList },
    readPlannerEvents: { kind: 'iterate', options: 1, first: 'traceId', afterEvents: true, nothing: toVoid },
    listSessions: { kind: 'read', options: 0, afterEvents: true, nothing: toPage },
    deleteSession: { kind: 'write', options: 1, settledBy: 'state', afterEvents: true },
  },

  artifacts: {
    putBytes: { kind: 'write', options: 1, settledBy: 'itself', counted: true },
    putText: { kind: 'write', options: 1, settledBy: 'itself', counted: true },
    putStream: { kind: 'write', options: 1, settledBy: 'itself', withholds: 'chunks', counted: true },
    get: { kind: 'read', options: 1, nothing: toNull },
    getStream: { kind: 'read', options: 1, nothing: toNull },
    getRef: { kind: 'read', options: 1, nothing: toNull },
    exists: { kind: 'read', options: 1, nothing: () => false },
    delete: { kind: 'write', options: 1, settledBy: 'state', counted: true },
    list: { kind: 'read', options: 1, nothing: toPage },
    sweep: { kind: 'write', options: 0, settledBy: 'state' },
  },

  admin: {
    listTenants: { kind: 'read', options: 0 },
    listAllTraces: { kind: 'read', options: 0 },
    readPause: { kind: 'read', options: 1 },
    putPause: { kind: 'write', options: 1, settledBy: 'state' },
    listRemovedRuns: { kind: 'read', options: 0 },
    listArtifacts: { kind: 'read', options: 0 },
    artifactTotals: { kind: 'read', options: 0 },
    check: { kind: 'read', options: 0 },
    eraseTenant: { kind: 'write', options: 1, settledBy: 'itself', counted: true },
    eraseSession: { kind: 'write', options: 1, settledBy: 'itself' },
  },
} as const satisfies Described;

type Calls = typeof CALLS;

/** The calls of a domain whose facts match. */
export type MethodWith<D extends StoreDomain, Facts> = {
  [M in MethodOf<D>]: M extends keyof Calls[D] ? (Calls[D][M] extends Facts ? M : never) : never;
}[MethodOf<D>];

/** The calls of a domain that write. */
export type WriteMethod<D extends StoreDomain> = MethodWith<D, { kind: 'write' }>;

/** The names, such as `runs.appendEvent`, of the calls whose facts match. */
export type CallName<Facts = object> = { [D in StoreDomain]: `${D}.${MethodWith<D, Facts>}` }[StoreDomain];

/** Returns the facts of a call. */
export function factsOf({ domain, method }: { domain: StoreDomain; method: string }): CallFacts {
  return (CALLS[domain] as Record<string, CallFacts>)[method]!;
}
