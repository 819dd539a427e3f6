/** Waits for a timeout or until `ring` is called. */
export class Alarm {
  readonly #waiting = new Set<() => void>();
  #rings = 0;

  /** How often the alarm has rung. */
  get rings(): number {
    return this.#rings;
  }

  /**
   * Waits, unless the alarm has rung more often than `rings`. Callers note `rings` before they look for work, so that
   * a ring while they look is not lost.
   */
  async wait(ms: number, rings: number): Promise<void> {
    if (this.#rings !== rings) return;
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
