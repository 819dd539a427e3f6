/**
 * Sends heartbeats for one claim, one every third of the lease. The signal aborts when the claim is lost, or when no
 * heartbeat has succeeded for the duration of the lease, because a sweep may then have requeued the job.
 */
import { isTidemarkError, type JobClaim, type JobStore } from '@tidemark/core';

export class Heartbeats {
  readonly #jobs: JobStore;
  readonly #claim: JobClaim;
  readonly #leaseMs: number;
  /** Created when the handler uses it. */
  #controller: AbortController | undefined;
  #loss: { reason: unknown } | undefined;
  /** When the last successful call was sent. The lease ends at least its full duration after that time. */
  #confirmedAt = performance.now();
  #timer: NodeJS.Timeout | undefined;
  #stopped = false;

  constructor(jobs: JobStore, claim: JobClaim, leaseMs: number) {
    this.#jobs = jobs;
    this.#claim = claim;
    this.#leaseMs = leaseMs;
    this.#schedule();
  }

  /** Aborts when the claim is lost. */
  get signal(): AbortSignal {
    if (!this.#controller) {
      this.#controller = new AbortController();
      if (this.#loss) this.#controller.abort(this.#loss.reason);
    }
    return this.#controller.signal;
  }

  /** Why the claim is lost; `undefined` while it is held. */
  get loss(): { reason: unknown } | undefined {
    return this.#loss;
  }

  /** Makes a call under the claim. If the claim is lost, the handler's signal aborts too. */
  async guard<T>(call: () => Promise<T>): Promise<T> {
    const sentAt = performance.now();
    try {
      const result = await call();
      this.#confirmedAt = Math.max(this.#confirmedAt, sentAt);
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
      this.#confirmedAt = Math.max(this.#confirmedAt, sentAt);
    } catch (error) {
      if (isTidemarkError(error, 'CLAIM_LOST')) this.#lose(error);
      else if (performance.now() - this.#confirmedAt >= this.#leaseMs) this.#lose(error);
    }
    if (!this.#loss) this.#schedule();
  }

  #lose(error: unknown): void {
    if (this.#stopped) return;
    this.stop();
    this.#loss = { reason: error };
    this.#controller?.abort(error);
  }
}
