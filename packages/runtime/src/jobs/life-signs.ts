/**
 * Signs of life for one claim: a heartbeat every third of the lease. Its signal aborts when the claim is lost, or when no
 * sign got through for a whole lease, after which a sweep may have given the job to another.
 */
import { isTidemarkError, type JobClaim, type JobStore } from '@tidemark/core';

export class LifeSigns {
  readonly #jobs: JobStore;
  readonly #claim: JobClaim;
  readonly #leaseMs: number;
  readonly #lost = new AbortController();
  /** When the last sign that got through was sent: the lease lasts at least from there. */
  #heardAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(jobs: JobStore, claim: JobClaim, leaseMs: number) {
    this.#jobs = jobs;
    this.#claim = claim;
    this.#leaseMs = leaseMs;
    this.#schedule();
  }

  get signal(): AbortSignal {
    return this.#lost.signal;
  }

  /** Makes a call under the claim: that it is lost reaches the handler too. */
  async guard<T>(call: () => Promise<T>): Promise<T> {
    const sentAt = performance.now();
    try {
      const result = await call();
      this.#heardAt = Math.max(this.#heardAt, sentAt);
      return result;
    } catch (error) {
      if (isTidemarkError(error, 'CLAIM_LOST')) this.#lose(error);
      throw error;
    }
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #schedule(): void {
    if (!this.#stopped) this.#timer = setTimeout(() => void this.#beat(), Math.max(1, this.#leaseMs / 3));
  }

  async #beat(): Promise<void> {
    const sentAt = performance.now();
    try {
      await this.#jobs.heartbeat(this.#claim, { timeoutMs: Math.max(1, Math.ceil(this.#leaseMs / 3)) });
      this.#heardAt = Math.max(this.#heardAt, sentAt);
    } catch (error) {
      if (isTidemarkError(error, 'CLAIM_LOST')) this.#lose(error);
      else if (performance.now() - this.#heardAt >= this.#leaseMs) this.#lose(error);
    }
    if (!this.#lost.signal.aborted) this.#schedule();
  }

  #lose(error: unknown): void {
    if (this.#stopped) return;
    this.stop();
    this.#lost.abort(error);
  }
}
