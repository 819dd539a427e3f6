/** A clock for writing events with past times. It returns the time of the event that is being written. */

export class DemoClock {
  /** The current time of the demo. */
  readonly now: number;
  #time: number;

  constructor(now: number) {
    this.now = now;
    this.#time = now;
  }

  readonly read = (): number => this.#time;

  /** Runs a write with the clock set to a time, which is `now` at the latest. */
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
