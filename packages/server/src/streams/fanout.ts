/**
 * Wakes the readers of topics a few at a time, alternating between tenants, so that an event with ten thousand readers
 * does not block the process.
 */
import type { Waiter } from './source.ts';

/**
 * The number of readers that are woken per turn of the event loop, and the number that are woken consecutively per
 * tenant.
 */
const WOKEN_AT_ONCE = 64;
const WOKEN_IN_A_ROW = 8;

interface Job {
  waiters: readonly Waiter[];
  next: number;
  done(): void;
}

export class Fanout {
  readonly #jobs = new Map<string, Job[]>();
  #isScheduled = false;

  /** Wakes all waiters, the first of them immediately, and calls `done` after the last waiter. */
  wake(account: string, waiters: readonly Waiter[], done: () => void): void {
    const jobs = this.#jobs.get(account) ?? [];
    jobs.push({ waiters, next: 0, done });
    this.#jobs.set(account, jobs);
    if (!this.#isScheduled) this.#turn();
  }

  #turn(): void {
    this.#isScheduled = true;
    let left = WOKEN_AT_ONCE;
    while (left > 0 && this.#jobs.size > 0) {
      const [account, jobs] = this.#jobs.entries().next().value!;
      left -= this.#wakeSome(jobs[0]!);
      if (jobs[0]!.next >= jobs[0]!.waiters.length) jobs.shift()!.done();
      // A tenant with more waiters moves to the end of the queue.
      this.#jobs.delete(account);
      if (jobs.length > 0) this.#jobs.set(account, jobs);
    }
    if (this.#jobs.size > 0) setImmediate(() => this.#turn());
    else this.#isScheduled = false;
  }

  /** Wakes some waiters. Returns their number, but at least 1, so that jobs without waiters also end the turn. */
  #wakeSome(job: Job): number {
    const end = Math.min(job.next + WOKEN_IN_A_ROW, job.waiters.length);
    const began = job.next;
    for (; job.next < end; job.next++) job.waiters[job.next]!.wake();
    return Math.max(1, end - began);
  }
}
