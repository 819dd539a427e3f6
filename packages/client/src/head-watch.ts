/**
 * Remembers the last head that this client saw of each run and reports runs that lost events (`HEAD_WENT_BACK`), for
 * example after a failover of the server's database. A redaction or a restore increases the run's `rewrites` and
 * explains a lower head.
 */
import {
  type AppendResult,
  HeadMemory,
  headKey,
  type RunEventInput,
  type RunPosition,
  type RunStore,
  type StoreAlert,
} from '@tidemark/core/portable';

type Calls = Pick<RunStore, 'appendEvent' | 'appendEvents' | 'position'>;

export class HeadWatch {
  readonly #heads = new HeadMemory();
  readonly #onAlert: (alert: StoreAlert) => void;

  constructor(onAlert: (alert: StoreAlert) => void) {
    this.#onAlert = onAlert;
  }

  /**
   * Wraps the calls that return heads, and compares each head with the head that was known before the call. Events must
   * name their tenant.
   */
  around(runs: Calls): Calls {
    const { appendEvent, appendEvents, position } = runs;
    return {
      appendEvent: async (event, options) => {
        const known = this.#seqOf(event);
        const result = await appendEvent(event, options);
        void this.#appended(event, known, result, position);
        return result;
      },

      appendEvents: async (events, options) => {
        const known = Array.isArray(events) ? events.map((event) => this.#seqOf(event)) : [];
        const results = await appendEvents(events, options);
        for (const [at, event] of events.entries()) void this.#appended(event, known[at], results[at]!, position);
        return results;
      },

      position: async (runId, options) => {
        const tenantId = options?.tenantId;
        const known = tenantId === undefined ? null : this.#heads.get(headKey({ tenantId, runId }));
        const found = await position(runId, options);
        if (found && known && found.lastEventSeq < known.seq) void this.#confirm(found, known.seq, position);
        else if (found) this.#note(found);
        else if (tenantId !== undefined) this.#heads.forget(headKey({ tenantId, runId }));
        return found;
      },
    };
  }

  /** Returns the last known sequence of an event's run. The argument has not been checked yet and may be any value. */
  #seqOf(event: RunEventInput | null | undefined): number | undefined {
    return event?.tenantId === undefined
      ? undefined
      : this.#heads.get(headKey({ tenantId: event.tenantId, runId: event.runId }))?.seq;
  }

  async #appended(
    { tenantId, runId }: RunEventInput,
    known: number | undefined,
    { runSeq, persisted }: AppendResult,
    position: Calls['position'],
  ): Promise<void> {
    const run = { tenantId: tenantId!, runId };
    const key = headKey(run);
    if (persisted && known !== undefined && runSeq <= known) await this.#confirm(run, known, position, runSeq);
    else if (persisted) {
      const rewrites = this.#heads.get(key)?.rewrites ?? null;
      this.#heads.note(key, { seq: runSeq, link: null, rewrites, createdAt: null });
    }
  }

  /** Reads the position again before reporting a loss, because the run may have been redacted, restored or removed. */
  async #confirm(
    { tenantId, runId }: { tenantId: string; runId: string },
    knownSeq: number,
    position: Calls['position'],
    placedAt?: number,
  ): Promise<void> {
    const run = { tenantId, runId };
    const key = headKey(run);
    try {
      const now = await position(runId, { tenantId });
      const rewrites = this.#heads.get(key)?.rewrites ?? 0;
      if (!now) return this.#heads.forget(key);
      this.#note(now, true);
      const isLost = placedAt !== undefined || now.lastEventSeq < knownSeq;
      const loss = { knownSeq, currentSeq: placedAt ?? now.lastEventSeq };
      if (isLost && now.rewrites <= rewrites && this.#heads.isNewLoss(key, loss))
        this.#onAlert({ code: 'HEAD_WENT_BACK', severity: 'P1', ...run, ...loss });
    } catch {
      // Errors are ignored. The next call that returns a head compares it again, and a failing listener must not make
      // calls fail.
    }
  }

  #note({ tenantId, runId, lastEventSeq: seq, rewrites }: RunPosition, isReset = false): void {
    const key = headKey({ tenantId, runId });
    const head = { seq, link: null, rewrites, createdAt: null };
    if (isReset) this.#heads.set(key, head);
    else this.#heads.note(key, head);
  }
}
