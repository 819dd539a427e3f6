/** Heartbeats of the streams that this process produces. */
import type { OpenStream, StreamLogs } from './stream-logs.ts';

/** Renews the heartbeats of streams until they end. When a heartbeat stops, readers end the stream. */
export class Heartbeats {
  readonly #logs: StreamLogs;
  readonly #timers = new Map<string, ReturnType<typeof setInterval>>();

  constructor(logs: StreamLogs) {
    this.#logs = logs;
  }

  /**
   * Starts renewing a heartbeat. Calls `onEnded` if the stream ends elsewhere, for example because a reader stopped it.
   */
  start(id: string, { runId }: OpenStream, onEnded: () => void = () => {}): void {
    const renew = async () => {
      const [isOpen, end] = await Promise.all([this.#logs.stateOf(id, runId), this.#logs.endOf(runId)]);
      if (isOpen === 'open' && end === null) return this.#logs.beat(id, runId);
      this.stop(runId);
      onEnded();
    };
    // A failed renewal is not reported, because the next renewal follows soon.
    const timer = setInterval(() => void renew().catch(() => {}), this.#logs.options.producerTimeoutMs / 4);
    timer.unref();
    this.#timers.set(runId, timer);
  }

  stop(runId: string): void {
    clearInterval(this.#timers.get(runId));
    this.#timers.delete(runId);
  }
}
