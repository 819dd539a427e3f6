/** Wakes those who wait for something new in this process. A hint, never the truth: waiters look again. */
import type { EngineCall } from './engine/runs.ts';

export class Signals {
  readonly #waiters = new Map<string, Set<() => void>>();

  /** Wakes everybody who waits for the topic. */
  notify(topic: string): void {
    const waiters = this.#waiters.get(topic);
    if (!waiters) return;
    this.#waiters.delete(topic);
    for (const wake of waiters) wake();
  }

  /** Resolves at the next notification, when the call's deadline passes, or when its signal aborts. */
  wait(topic: string, call: EngineCall): Promise<void> {
    if (call.signal?.aborted) return Promise.resolve();
    return new Promise((resolve) => {
      const wake = () => {
        clearTimeout(timer);
        call.signal?.removeEventListener('abort', wake);
        this.#waiters.get(topic)?.delete(wake);
        resolve();
      };
      const timer =
        call.deadline === undefined ? undefined : setTimeout(wake, Math.max(0, call.deadline - Date.now()));
      call.signal?.addEventListener('abort', wake, { once: true });
      const waiters = this.#waiters.get(topic) ?? new Set();
      this.#waiters.set(topic, waiters.add(wake));
    });
  }
}
