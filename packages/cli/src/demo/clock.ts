/** A clock for writing past events: it returns the time of the event being written. */

export class DemoClock {
  /** The current time of the demo. */
  readonly now: number;
  #time: number;

  constructor(now: number) {
    this.now = now;
    this.#time = now;
  }

  readonly read = (): number => this.#time;

  /** Runs a write with the clock set to a time, at the latest to `now`. */
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
