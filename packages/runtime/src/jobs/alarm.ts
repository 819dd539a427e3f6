/** Waits for a timeout or until `ring` is called. A call before the wait begins is not lost. */
export class Alarm {
  readonly #waiting = new Set<() => void>();

  /** Starts listening at once, so that a `ring` while the caller looks for work also ends the wait. */
  next(ms: number): { wait: Promise<void>; cancel: () => void } {
    let cancel = () => {};
    const wait = new Promise<void>((resolve) => {
      const timer = setTimeout(() => cancel(), ms);
      cancel = () => {
        clearTimeout(timer);
        this.#waiting.delete(cancel);
        resolve();
      };
      this.#waiting.add(cancel);
    });
    return { wait, cancel };
  }

  ring(): void {
    for (const end of [...this.#waiting]) end();
  }
}
