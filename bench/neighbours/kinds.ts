/**
 * The operations that the scenarios call, by kind. A contender leaves out the optional operations that its library does not have; their
 * scenarios are then not measured beside it.
 *
 * The libraries are installed with `npm ci --prefix bench/neighbours`, not with the repository, so the contenders declare
 * their types as far as they are used.
 */

/** How many callers work at the same time, unless a scenario names another number. */
export const CALLERS = 64;

/** The parts of every contender. */
export interface Contender {
  name: string;
  close(): Promise<unknown>;
}

/** A store of events by run. */
export interface EventsContender extends Contender {
  /** How many runs can be open at the same time. Absent: as many as a scenario asks for. */
  maxRuns?: number;
  /** Prepares runs for appends before the clock starts, for libraries that append only from a running workflow. */
  begin?(runIds: readonly string[]): Promise<unknown>;
  /** Ends what `begin` started. */
  end?(runIds: readonly string[]): Promise<unknown>;
  append(runId: string): Promise<unknown>;
  /** Appends an event with a key. A repeated key stores nothing and is no error. */
  appendOnce?(runId: string, key: string): Promise<unknown>;
  appendMany?(runId: string, count: number): Promise<unknown>;
  /** Returns the number of events of a run. */
  read?(runId: string): Promise<number>;
  /** Starts to follow a run. Calls `received` for each event stored from now on. Returns the function that ends it. */
  follow?(runId: string, received: () => void): Promise<() => Promise<unknown>>;
  /** Reads the state of a run. */
  snapshot?(runId: string): Promise<unknown>;
  /** Brings the stored state of a run up to date before it is read. */
  project?(runId: string): Promise<unknown>;
}

/** A store of checkpoints by thread. */
export interface CheckpointsContender extends Contender {
  put(thread: string, step: number): Promise<unknown>;
  latest(thread: string): Promise<unknown>;
}

/** A key-value store. */
export interface KvContender extends Contender {
  set(key: string, value: string): Promise<unknown>;
  get(key: string): Promise<unknown>;
  /** Replaces a value if it is the expected one, and returns whether it was. */
  swap?(key: string, expected: string, next: string): Promise<boolean>;
}

/** A job queue. */
export interface JobsContender extends Contender {
  enqueue?(id: string): Promise<unknown>;
  /** Claims and completes `count` jobs with some workers. */
  work?(workers: number, count: number): Promise<unknown>;
  /** Claims jobs with a lease of one second and abandons them, among `others` that wait. Resolves once it has ended. */
  abandon?(count: number, others: number): Promise<unknown>;
  /** Returns the abandoned jobs to the queue. Returns their number where the library reports it. */
  sweep?(): Promise<number | undefined>;
}

/** A store of pauses. */
export interface PausesContender extends Contender {
  /** Saves a pause with a payload and consumes it. Returns the payload. */
  roundTrip(token: string, payload: Record<string, unknown>): Promise<Record<string, unknown>>;
}

/** A store of memory states. */
export interface MemoryContender extends Contender {
  save(key: string, state: Record<string, unknown>): Promise<unknown>;
  load(key: string): Promise<unknown>;
}

export interface Contenders {
  events: EventsContender;
  checkpoints: CheckpointsContender;
  kv: KvContender;
  jobs: JobsContender;
  pauses: PausesContender;
  memory: MemoryContender;
}

/** Imports a package whose types are not installed. */
export async function load<T>(name: string): Promise<T> {
  return (await import(name)) as T;
}

/** Resolves `all` once `one` was called `count` times. */
export function countdown(count: number): { one: () => void; all: Promise<void> } {
  const { promise, resolve } = Promise.withResolvers<void>();
  let left = count;
  const one = () => {
    if (--left === 0) resolve();
  };
  return { one, all: promise };
}

/** Runs some work a number of times, by callers that each wait for one after the other. */
export async function repeat(
  times: number,
  work: (index: number) => Promise<unknown>,
  callers = CALLERS,
): Promise<void> {
  let next = 0;
  const call = async () => {
    while (next < times) await work(next++);
  };
  await Promise.all(Array.from({ length: callers }, call));
}
