/**
 * Group commit: calls that arrive while a commit is under way, or in the same turn of the event loop, share the next
 * commit. An idle store commits at once. A call settles after its own commit.
 */
import { TidemarkError } from '../contracts/errors.ts';
import type { EngineCall } from '../engine/call.ts';

/**
 * Executes a group of operations and returns one outcome for each, in order. It calls `take` when it is ready to write,
 * for example once it holds its lock; until then calls may join or be abandoned. If it throws, all operations that were
 * taken fail. If none was taken, all waiting operations fail.
 */
export type CommitGroup<Operation, Outcome> = (
  take: () => readonly Operation[],
) => Promise<readonly (Outcome | Error)[]>;

export interface GroupCommitOptions {
  /** Operations that may wait; more are rejected with `OVERLOADED` and not accepted (GEN-3). Default 10 000. */
  maxQueue?: number;
  /** Operations per commit. Default 1 000. */
  maxGroup?: number;
  /** Whether the operations are reads. Only changes the texts of errors. */
  reads?: boolean;
  /** Called when no operation is left. */
  onIdle?: () => void;
}

interface Waiting<Operation, Outcome> {
  operation: Operation;
  call: EngineCall;
  resolve: (outcome: Outcome) => void;
  reject: (error: unknown) => void;
}

const MAX_TURN_MS = 5;

/** Browsers have no `setImmediate`. */
const afterTurn =
  typeof setImmediate === 'function'
    ? (then: () => void) => void setImmediate(then)
    : (then: () => void) => void setTimeout(then, 0);

export class GroupCommit<Operation, Outcome> {
  readonly #commit: CommitGroup<Operation, Outcome>;
  readonly #maxQueue: number;
  readonly #maxGroup: number;
  readonly #onIdle: (() => void) | undefined;
  /** Words for the messages of errors: the kind of call, and what did not happen to it. */
  readonly #words: { call: string; end: string };
  #queue: Waiting<Operation, Outcome>[] = [];
  #running: Promise<void> | null = null;
  #lastGroupSize = 0;
  #turnedAt = performance.now();

  constructor(commit: CommitGroup<Operation, Outcome>, options: GroupCommitOptions = {}) {
    this.#commit = commit;
    this.#maxQueue = options.maxQueue ?? 10_000;
    this.#maxGroup = options.maxGroup ?? 1_000;
    this.#onIdle = options.onIdle;
    this.#words = options.reads ? { call: 'read', end: '' } : { call: 'write', end: '; nothing was written' };
  }

  /** Joins the next commit. Settles once that commit is durable or refused. */
  submit(operation: Operation, call: EngineCall): Promise<Outcome> {
    if (this.#queue.length >= this.#maxQueue) {
      return Promise.reject(
        new TidemarkError(
          'OVERLOADED',
          `${this.#maxQueue} ${this.#words.call}s are waiting already; slow down and retry`,
        ),
      );
    }
    return new Promise((resolve, reject) => {
      call.phase ??= 'waiting';
      this.#queue.push({ operation, call, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when every accepted call has settled. */
  async drain(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #run(): Promise<void> {
    do {
      await this.#turnEnd();
      await this.#settle();
    } while (this.#queue.length > 0);
    this.#running = null;
    this.#onIdle?.();
  }

  /**
   * Waits for the turn of the event loop to end, so that callers woken by the last commit can join. After a group of
   * one, no other caller is expected and a lone caller skips the wait, as long as turns end often enough for timers and
   * sockets.
   */
  async #turnEnd(): Promise<void> {
    if (this.#lastGroupSize <= 1 && performance.now() - this.#turnedAt < MAX_TURN_MS) return;
    await new Promise<void>(afterTurn);
    this.#turnedAt = performance.now();
  }

  /** Takes the next group and rejects the calls given up while waiting; nothing was written for them. */
  #take(): Waiting<Operation, Outcome>[] {
    const now = Date.now();
    const { call: what, end } = this.#words;
    const group = this.#queue.splice(0, this.#maxGroup).filter(({ call, reject }) => {
      if (call.phase === 'given up' || call.signal?.aborted) {
        reject(new TidemarkError('ABORTED', `The ${what} was given up before it began${end}`));
      } else if (call.deadline !== undefined && call.deadline <= now) {
        reject(new TidemarkError('TIMEOUT', `The ${what} waited longer than its time limit${end}`));
      } else return true;
      return false;
    });
    for (const { call } of group) call.phase = 'begun';
    this.#lastGroupSize = group.length;
    return group;
  }

  async #settle(): Promise<void> {
    let group: Waiting<Operation, Outcome>[] | null = null;
    try {
      const outcomes = await this.#commit(() => {
        group = this.#take();
        return group.map(({ operation }) => operation);
      });
      const taken = group as Waiting<Operation, Outcome>[] | null;
      taken?.forEach(({ resolve, reject }, index) => {
        const outcome = outcomes[index];
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome as Outcome);
      });
    } catch (error) {
      for (const { reject } of group ?? this.#queue.splice(0)) reject(error);
    }
  }
}
