/** Wakes waiters of this process when something may be new. Only a hint: waiters must read to find out. */
import type { EngineCall } from '../engine/call.ts';

export class Signals {
  readonly #waiters = new Map<string, Set<() => void>>();

  /** Wakes every waiter of a topic. */
  notify(topic: string): void {
    const waiters = this.#waiters.get(topic);
    if (!waiters) return;
    this.#waiters.delete(topic);
    for (const wake of waiters) wake();
  }

  /** Wakes every waiter, when it is unknown what changed. */
  notifyAll(): void {
    for (const topic of [...this.#waiters.keys()]) this.notify(topic);
  }

  /** Whether there are waiters. */
  get awaited(): boolean {
    return this.#waiters.size > 0;
  }

  /** Resolves at the next notification, when the call's deadline passes, or when its signal aborts. */
  wait(topic: string, call: EngineCall): Promise<void> {
    if (call.signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        call.signal?.removeEventListener('abort', wake);
        const waiters = this.#waiters.get(topic);
        waiters?.delete(wake);
        if (waiters?.size === 0) this.#waiters.delete(topic);
        resolve();
      };
      const timer = call.deadline === undefined ? undefined : setTimeout(wake, Math.max(0, call.deadline - Date.now()));
      call.signal?.addEventListener('abort', wake, { once: true });
      const waiters = this.#waiters.get(topic) ?? new Set();
      this.#waiters.set(topic, waiters.add(wake));
    });
  }
}
