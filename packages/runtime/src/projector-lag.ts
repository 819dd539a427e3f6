/**
 * The projector's watchdog: a timer of its own, so that lag is seen while it grows, also when a fold or the feed hangs. Each
 * incident is reported once; it is over when the lag has fallen below the limit again.
 */

/** How often the lag is looked at: an alert comes at most this much after the limit was crossed. */
const LOOK_EVERY_MS = 250;

export interface LagWatchOptions {
  /** The lag in milliseconds; `null` while nothing is known. */
  measure: () => number | null;
  alertMs: number;
  /** Called once for each incident. */
  onHigh: (lagMs: number) => void;
  /** Called at every look. */
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

  /** Compares the lag with its limits now. */
  look(): void {
    const { measure, alertMs, onHigh, onLook } = this.#options;
    const lagMs = measure() ?? 0;
    const wasHigh = this.#isHigh;
    this.#isHigh = lagMs > alertMs;
    if (this.#isHigh && !wasHigh) onHigh(lagMs);
    onLook();
  }
}
