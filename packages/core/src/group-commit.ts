/**
 * Group commit: calls that arrive while a commit is under way, or in the same turn of the event loop, share the
 * next one; an idle store commits at once. A caller is answered after its own commit.
 */
import { TidemarkError } from './contracts/errors.ts';
import type { EngineCall } from './engine/runs.ts';

/** How a group of operations is carried out: one outcome each, in order. A throw fails all of them. */
export type CommitGroup<Operation, Outcome> = (
  operations: readonly Operation[],
) => Promise<readonly (Outcome | Error)[]>;

export interface GroupCommitOptions {
  /** Operations that may wait; beyond, callers get `OVERLOADED` and nothing was accepted (GEN-3). Default 10 000. */
  maxQueue?: number;
  /** Operations of one commit. Default 1 000. */
  maxGroup?: number;
}

interface Waiting<Operation, Outcome> {
  operation: Operation;
  call: EngineCall;
  resolve: (outcome: Outcome) => void;
  reject: (error: unknown) => void;
}

export class GroupCommit<Operation, Outcome> {
  readonly #commit: CommitGroup<Operation, Outcome>;
  readonly #maxQueue: number;
  readonly #maxGroup: number;
  #queue: Waiting<Operation, Outcome>[] = [];
  #running: Promise<void> | null = null;
  #lastGroupSize = 0;

  constructor(commit: CommitGroup<Operation, Outcome>, options: GroupCommitOptions = {}) {
    this.#commit = commit;
    this.#maxQueue = options.maxQueue ?? 10_000;
    this.#maxGroup = options.maxGroup ?? 1_000;
  }

  /** Joins the next commit; settles once that commit is durable or refused. */
  submit(operation: Operation, call: EngineCall): Promise<Outcome> {
    if (this.#queue.length >= this.#maxQueue) {
      return Promise.reject(
        new TidemarkError('OVERLOADED', `${this.#maxQueue} writes are waiting already; slow down and send it again`),
      );
    }
    return new Promise((resolve, reject) => {
      this.#queue.push({ operation, call, resolve, reject });
      this.#running ??= this.#run();
    });
  }

  /** Resolves when everything accepted so far has been settled. */
  async drain(): Promise<void> {
    while (this.#running) await this.#running;
  }

  async #run(): Promise<void> {
    do {
      await this.#turnEnd();
      const group = this.#nextGroup();
      this.#lastGroupSize = group.length;
      if (group.length > 0) await this.#settle(group);
    } while (this.#queue.length > 0);
    this.#running = null;
  }

  /**
   * Lets those join who were woken by the last commit: they come in this turn of the event loop. Where the last
   * group was a single call nobody else is to be expected, and a lone caller need not wait for the turn to end.
   */
  #turnEnd(): Promise<void> {
    return this.#lastGroupSize <= 1 ? Promise.resolve() : new Promise((resolve) => setImmediate(resolve));
  }

  /** The next group, without those who gave up while they waited: nothing of theirs was written. */
  #nextGroup(): Waiting<Operation, Outcome>[] {
    const group = this.#queue.splice(0, this.#maxGroup);
    const now = Date.now();
    return group.filter(({ call, reject }) => {
      if (call.signal?.aborted)
        reject(new TidemarkError('ABORTED', 'The write was aborted before it began; nothing was written'));
      else if (call.deadline !== undefined && call.deadline <= now) {
        reject(new TidemarkError('TIMEOUT', 'The write waited longer than its time limit; nothing was written'));
      } else return true;
      return false;
    });
  }

  async #settle(group: Waiting<Operation, Outcome>[]): Promise<void> {
    try {
      const outcomes = await this.#commit(group.map(({ operation }) => operation));
      group.forEach(({ resolve, reject }, index) => {
        const outcome = outcomes[index];
        if (outcome instanceof Error) reject(outcome);
        else resolve(outcome as Outcome);
      });
    } catch (error) {
      for (const { reject } of group) reject(error);
    }
  }
}
