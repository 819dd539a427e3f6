/** Waits for a time or until it is rung, whichever comes first; a ring while nobody waits yet is not lost. */
export class Alarm {
  readonly #waiting = new Set<() => void>();

  /** Begins to listen at once, so that what rings while the caller looks for work still ends the wait. */
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
