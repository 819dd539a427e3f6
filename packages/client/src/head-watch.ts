/**
 * Remembers the last head that this client saw of each run and reports runs that lost events (`HEAD_WENT_BACK`), for
 * example after a failover of the server's database. A redaction or a restore increases the run's `rewrites` and
 * explains a lower head.
 */
import type { AppendResult, RunEventInput, RunPosition, RunStore, StoreAlert } from '@tidemark/core/portable';

type Calls = Pick<RunStore, 'appendEvent' | 'appendEvents' | 'position'>;
type Run = Pick<RunPosition, 'tenantId' | 'runId'>;

/** How many heads are remembered. Runs beyond that are unknown again, in the order in which they were added. */
const MAX_HEADS = 10_000;
/** Calls that notice the same loss within this time report it once. */
const INCIDENT_MS = 60_000;

interface Head {
  seq: number;
  /** `undefined` if only appends were seen, because their results do not contain it. */
  rewrites: number | undefined;
  /** The last loss that was reported. */
  loss: { knownSeq: number; currentSeq: number; at: number } | undefined;
}

export class HeadWatch {
  readonly #heads = new Map<string, Head>();
  readonly #onAlert: (alert: StoreAlert) => void;

  constructor(onAlert: (alert: StoreAlert) => void) {
    this.#onAlert = onAlert;
  }

  /**
   * Wraps the calls that return heads, and compares each head with the head that was known before the call. Events must
   * name their tenant.
   */
  around({ appendEvent, appendEvents, position }: Calls): Calls {
    const appended = (event: RunEventInput, knownSeq: number, { runSeq, persisted }: AppendResult) => {
      if (!persisted) return;
      if (runSeq <= knownSeq) void this.#confirm(event as Run, knownSeq, position, runSeq);
      else this.#note(event as Run, runSeq);
    };
    return {
      appendEvent: async (event, options) => {
        const known = this.#seqOf(event);
        const result = await appendEvent(event, options);
        appended(event, known, result);
        return result;
      },

      appendEvents: async (events, options) => {
        const known = events.map((event) => this.#seqOf(event));
        const results = await appendEvents(events, options);
        for (const [at, event] of events.entries()) appended(event, known[at]!, results[at]!);
        return results;
      },

      position: async (runId, options) => {
        const run = { ...options, runId };
        const known = this.#seqOf(run);
        const found = await position(runId, options);
        if (!found) this.#heads.delete(keyOf(run));
        else if (found.lastEventSeq < known) void this.#confirm(found, known, position);
        else this.#note(found, found.lastEventSeq, found.rewrites);
        return found;
      },
    };
  }

  /** Returns the last known sequence of a run, or 0. The argument has not been checked yet and may be any value. */
  #seqOf(run: unknown): number {
    return this.#heads.get(keyOf(run))?.seq ?? 0;
  }

  /** Stores a head unless a later one is known. */
  #note(run: Run, seq: number, rewrites?: number): void {
    const known = this.#heads.get(keyOf(run));
    const isRewritten = rewrites !== undefined && rewrites !== known?.rewrites;
    if (known && known.seq > seq && !isRewritten) return;
    this.#set(run, { seq, rewrites: rewrites ?? known?.rewrites, loss: known?.loss });
  }

  #set(run: Run, head: Head): void {
    this.#heads.set(keyOf(run), head);
    if (this.#heads.size > MAX_HEADS) this.#heads.delete(this.#heads.keys().next().value!);
  }

  /** Reads the position again before reporting a loss, because the run may have been redacted, restored or removed. */
  async #confirm(
    { tenantId, runId }: Run,
    knownSeq: number,
    position: Calls['position'],
    placedAt?: number,
  ): Promise<void> {
    const run = { tenantId, runId };
    try {
      const now = await position(runId, { tenantId });
      const known = this.#heads.get(keyOf(run));
      if (!now) return void this.#heads.delete(keyOf(run));
      const currentSeq = placedAt ?? now.lastEventSeq;
      const isLower = placedAt !== undefined || currentSeq < knownSeq;
      const isLost = isLower && now.rewrites <= (known?.rewrites ?? 0);
      const at = performance.now();
      const last = known?.loss;
      const isReported =
        last && at - last.at < INCIDENT_MS && (knownSeq <= last.knownSeq || currentSeq === last.currentSeq);
      const isNew = isLost && !isReported;
      const loss = isNew ? { knownSeq, currentSeq, at } : last;
      this.#set(run, { seq: now.lastEventSeq, rewrites: now.rewrites, loss });
      if (isNew) this.#onAlert({ code: 'HEAD_WENT_BACK', severity: 'P1', ...run, knownSeq, currentSeq });
    } catch {
      // Errors are ignored. The next call that returns a head compares it again, and a failing listener must not make
      // calls fail.
    }
  }
}

function keyOf(run: unknown): string {
  const { tenantId, runId } = Object(run) as Run;
  return JSON.stringify([tenantId, runId]);
}
