/** Waits for a timeout or until `ring` is called. */
export class Alarm {
  readonly #waiting = new Set<() => void>();
  #rings = 0;

  /** How often it has rung. Read it before looking for work, so that a later `ring` is not lost. */
  get rings(): number {
    return this.#rings;
  }

  /** Waits unless it has rung since `rings` was read. */
  async wait(since: number, ms: number): Promise<void> {
    if (this.#rings !== since) return;
    await new Promise<void>((resolve) => {
      const end = () => {
        clearTimeout(timer);
        this.#waiting.delete(end);
        resolve();
      };
      const timer = setTimeout(end, ms);
      this.#waiting.add(end);
    });
  }

  ring(): void {
    this.#rings++;
    for (const end of [...this.#waiting]) end();
  }
}
