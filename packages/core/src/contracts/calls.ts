/**
 * Every call of a store, described once. Wrappers, errors and servers take from this table which calls write, what settles a
 * write whose reply was lost, and what the arguments are. A call without an entry does not compile.
 */
import type { Store } from './store.ts';

/** A part of a store that has calls of its own. */
export type StoreDomain = 'runs' | 'kv' | 'jobs' | 'agents' | 'artifacts' | 'admin';

/** The names of the calls of a domain. */
export type MethodOf<D extends StoreDomain> = keyof Store[D] & string;

/** The arguments of a call. */
export type CallArgs<D extends StoreDomain, M extends MethodOf<D>> = Store[D][M] extends (...args: infer A) => unknown
  ? A
  : never;

/**
 * What makes a write safe to send again.
 *
 * - `itself`: sent again it changes nothing more and returns what it returned the first time. Events have keys, updates have
 *   ids, bytes have a hash, a claim has its id.
 * - `state`: sent again it changes nothing more, but its answer is about what it finds then. A run that the first attempt
 *   deleted is gone, so `deleteRun` returns false.
 * - `requestId`, `claimId`: by this member of its options, where it is present. Without one the write is not settled by
 *   anything.
 */
export type SettledBy = 'itself' | 'state' | 'requestId' | 'claimId';

/**
 * What the first argument of some writes is that errors never carry: the token of a pause is a secret, and a stream can be
 * read once only.
 */
export type WithheldArgument = 'token' | 'chunks' | 'parts';

/** What all calls have. `At` is where the options of the call are among its arguments. */
interface CommonFacts<At> {
  options: At;
  /** What the first argument names, where it is an id. */
  first?: 'runId' | 'traceId' | 'sessionId';
  /** The call works on flow or planner events: those that wait in a batch have to be stored before it. */
  afterEvents?: true;
  /** Returns what `withFailSafe` answers when the call fails; a call without it throws there too. */
  nothing?: (args: readonly unknown[]) => unknown;
}

interface ReadFacts<At> extends CommonFacts<At> {
  /** `read` returns a promise, `iterate` an async iterable. */
  kind: 'read' | 'iterate';
}

interface WriteFacts<At> extends CommonFacts<At> {
  kind: 'write';
  settledBy: SettledBy;
  /** Which argument has the member that `settledBy` names. Default: the options. */
  settledAt?: number;
  withholds?: WithheldArgument;
  /** Members of the options that let the write be refused for what is stored. */
  conditions?: readonly string[];
  /** Brings one event, or as many as its first argument has. */
  events?: 'one' | 'many';
  /** Changes how many runs and bytes a tenant has. */
  counted?: true;
}

/** Of the call that returns a handle, whose own calls go through the store. */
interface HandleFacts extends Partial<CommonFacts<undefined>> {
  kind: 'handle';
}

/** What is known of a call without making it. */
export type CallFacts<At = number> = ReadFacts<At> | WriteFacts<At> | HandleFacts;

/** Where the argument is that has a signal, as a number. */
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

const APPEND_CONDITIONS = ['expectedSeq', 'transaction', 'rejectInvalidTransitions', 'projections'] as const;

/** The calls of every domain. */
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
    headSeq: { kind: 'read', options: 1, first: 'runId', nothing: () => 0 },
    position: { kind: 'read', options: 1, first: 'runId', nothing: toNull },
    verify: { kind: 'read', options: 1, first: 'runId' },
    listQuarantined: { kind: 'read', options: 0, nothing: toPage },
    releaseRun: { kind: 'write', options: 1, first: 'runId', settledBy: 'state' },
    deleteRun: { kind: 'write', options: 1, first: 'runId', settledBy: 'state', counted: true },
    exportRun: { kind: 'iterate', options: 1, first: 'runId', nothing: toVoid },
    restoreRun: { kind: 'write', options: 1, settledBy: 'itself', withholds: 'parts', counted: true },
    archiveRun: { kind: 'write', options: 1, first: 'runId', settledBy: 'state', counted: true },
    archiveLocation: { kind: 'read', options: 1, first: 'runId' },
    redactEvent: { kind: 'write', options: 2, first: 'runId', settledBy: 'itself' },
    feed: { kind: 'iterate', options: 0, nothing: toVoid },
    feedPage: {
      kind: 'read',
      options: 0,
      // The cursor stays where it was: without it a reader would begin again.
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
    touch: { kind: 'write', options: 2, settledBy: 'requestId' },
    scan: { kind: 'iterate', options: 2 },
    scanPage: { kind: 'read', options: 1 },
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
    check: { kind: 'read', options: 0 },
    eraseTenant: { kind: 'write', options: 1, settledBy: 'itself', counted: true },
    eraseSession: { kind: 'write', options: 1, settledBy: 'itself' },
  },
} as const satisfies Described;

type Calls = typeof CALLS;

/** The calls of a domain whose facts include these. */
export type MethodWith<D extends StoreDomain, Facts> = {
  [M in MethodOf<D>]: M extends keyof Calls[D] ? (Calls[D][M] extends Facts ? M : never) : never;
}[MethodOf<D>];

/** The calls of a domain that write. */
export type WriteMethod<D extends StoreDomain> = MethodWith<D, { kind: 'write' }>;

/** Names of calls as `runs.appendEvent`, of those whose facts include these. */
export type CallName<Facts = object> = { [D in StoreDomain]: `${D}.${MethodWith<D, Facts>}` }[StoreDomain];

/** Returns what is known of a call. */
export function factsOf({ domain, method }: { domain: StoreDomain; method: string }): CallFacts {
  return (CALLS[domain] as Record<string, CallFacts>)[method]!;
}
