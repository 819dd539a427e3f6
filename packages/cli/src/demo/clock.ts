/** The clock of a store that is filled with the past: it stands at the time of what is being written. */

export class DemoClock {
  /** The time of the demo's present. */
  readonly now: number;
  #time: number;

  constructor(now: number) {
    this.now = now;
    this.#time = now;
  }

  readonly read = (): number => this.#time;

  /** Writes as of a time, never later than now. */
  async at<T>(time: number, write: () => Promise<T>): Promise<T> {
    this.#time = Math.min(Math.round(time), this.now);
    try {
      return await write();
    } finally {
      this.#time = this.now;
    }
  }

  text(time: number): string {
    return new Date(Math.min(Math.round(time), this.now)).toISOString();
  }
}
