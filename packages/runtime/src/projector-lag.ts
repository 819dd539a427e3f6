/**
 * The projector's watchdog. It has its own timer, so that it detects growing lag even if a fold or the feed hangs. Each
 * incident is reported once. An incident ends when the lag is below the limit again.
 */

/** How often the lag is checked, which is also the maximum delay of an alert. */
const LOOK_EVERY_MS = 250;

export interface LagWatchOptions {
  /** Returns the lag in milliseconds, or `null` while it is unknown. */
  measure: () => number | null;
  alertMs: number;
  /** Called once per incident. */
  onHigh: (lagMs: number) => void;
  /** Called at every check. */
  onLook: () => void;
}

export class LagWatch {
  readonly #options: LagWatchOptions;
  #timer: NodeJS.Timeout | undefined;
  #isHigh = false;

  constructor(options: LagWatchOptions) {
    this.#options = options;
  }

  start(): void {
    this.#timer = setInterval(() => this.look(), LOOK_EVERY_MS);
    this.#timer.unref();
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  /** Compares the lag with its limit immediately. */
  look(): void {
    const { measure, alertMs, onHigh, onLook } = this.#options;
    const lagMs = measure() ?? 0;
    const wasHigh = this.#isHigh;
    this.#isHigh = lagMs > alertMs;
    if (this.#isHigh && !wasHigh) onHigh(lagMs);
    onLook();
  }
}
