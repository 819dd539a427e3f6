/** Snapshots: read the stored one, fold the tail after it, write it back (RUN-13), mark it stale (RUN-14). */
import type { Payloads } from '../codec/payloads.ts';
import type { StoreContext } from '../context.ts';
import type { PayloadPlace } from '../contracts/codec.ts';
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';
import type { RunEventRecord } from '../contracts/run-events.ts';
import type { RefreshedSnapshot, RunSnapshot } from '../contracts/run-state.ts';
import { type EngineCall, isTombstone, type PreparedEvent, type RunEngine, type RunKey } from '../engine/runs.ts';
import { fetchChecked } from './checked-page.ts';
import { recordOf } from './prepare.ts';
import { RunFold } from './reducer.ts';

const FOLD_PAGE = 2_000;
/** A reader that folded so many events saves the next one the work. */
const LONG_TAIL = 200;
/** A fold stores what it has after so many events, so that one that runs out of time is continued and not begun again. */
const KEEP_EVERY = 20_000;

export class SnapshotReader {
  readonly #context: StoreContext;
  readonly #engine: RunEngine;
  /** Runs whose snapshot is being written back, each with the newest one that waits for its turn. */
  readonly #writingBack = new Map<string, { waiting: RunSnapshot | null; done: Promise<void> }>();

  constructor(context: StoreContext, engine: RunEngine) {
    this.#context = context;
    this.#engine = engine;
  }

  /** The stored snapshot; where there is none yet, projects one and stores it. */
  async stored(run: RunKey, call: EngineCall): Promise<RunSnapshot | null> {
    return (await this.#load(run, call)) ?? this.current(run, call);
  }

  /** The snapshot of the whole log. */
  async current(run: RunKey, call: EngineCall): Promise<RunSnapshot | null> {
    const stored = await this.#load(run, call);
    const { fold, written } = await this.#foldOn(run, stored, call);
    if (fold.lastEventSeq === 0) return null;
    if (stored && fold.lastEventSeq === stored.lastEventSeq) return { ...stored, freshness: 'FRESH' };
    return written ?? fold.snapshot(this.#context.clock());
  }

  /** The snapshot as it was right after `atSeq`. */
  async at(run: RunKey, atSeq: number, call: EngineCall): Promise<RunSnapshot | null> {
    const stored = await this.#load(run, call);
    const fold = new RunFold(stored && stored.lastEventSeq <= atSeq ? stored : null);
    await this.#foldTail(run, fold, atSeq, call);
    if (fold.lastEventSeq === 0) return null;
    if (fold.lastEventSeq < atSeq)
      throw invalidArgument('atSeq', `at most ${fold.lastEventSeq}, the last of the run`, atSeq);
    return fold.snapshot(this.#context.clock());
  }

  /** Folds what is new and stores the result; `null` for an unknown run. */
  async refresh(run: RunKey, call: EngineCall): Promise<RefreshedSnapshot | null> {
    const stored = await this.#load(run, call);
    const fold = new RunFold(stored);
    await this.#foldTail(run, fold, Number.POSITIVE_INFINITY, call);
    if (fold.lastEventSeq === 0) return null;
    const folded = fold.lastEventSeq - (stored?.lastEventSeq ?? 0);
    if (stored && folded === 0 && stored.freshness === 'FRESH') return { snapshot: stored, folded };
    const snapshot = fold.snapshot(this.#context.clock());
    await this.#save(run, snapshot, call);
    return { snapshot, folded };
  }

  /** Marks the stored snapshot as one that is known to lack events; false where none is stored. */
  async markStale(run: RunKey, call: EngineCall): Promise<boolean> {
    const stored = await this.#load(run, call);
    if (stored && stored.freshness !== 'STALE') await this.#save(run, { ...stored, freshness: 'STALE' }, call);
    return stored !== null;
  }

  /** Refuses events that the table does not allow as the run stands; gives the sequence it stands at. */
  async checkTransitions(run: RunKey, events: readonly PreparedEvent[], call: EngineCall): Promise<number> {
    const { fold } = await this.#foldOn(run, await this.#load(run, call), call);
    const seq = fold.lastEventSeq;
    for (const event of events) {
      const violation = fold.apply(asIfStored(this.#context.payloads, run, event, fold.lastEventSeq + 1));
      if (!violation) continue;
      throw new TidemarkError('INVALID_TRANSITION', `${event.eventType} is not allowed here: ${violation.reason}`, {
        field: 'eventType',
        rule: violation.reason,
        runId: run.runId,
      });
    }
    return seq;
  }

  async #load(run: RunKey, call: EngineCall): Promise<RunSnapshot | null> {
    const stored = await this.#engine.loadSnapshot(run, call);
    return stored && this.#context.payloads.decode<RunSnapshot>(stored.body, placeOf(run));
  }

  /** Folds the whole log anew and stores that, whatever was stored before: what was redacted since is not in it. */
  async refold(run: RunKey, call: EngineCall): Promise<void> {
    await this.settled(run);
    const fold = new RunFold();
    await this.#foldTail(run, fold, Number.POSITIVE_INFINITY, call);
    if (fold.lastEventSeq === 0) return;
    const snapshot = fold.snapshot(this.#context.clock());
    for (let stored = await this.#load(run, call); ; ) {
      if (stored && stored.lastEventSeq > snapshot.lastEventSeq) return this.refold(run, call);
      await this.#save(run, { ...snapshot, version: (stored?.version ?? 0) + 1 }, call);
      // Another process may have been about to store what it folded before.
      stored = await this.#load(run, call);
      if (!stored || !isOutdated(stored, snapshot)) return;
    }
  }

  async #save(run: RunKey, snapshot: RunSnapshot, call: EngineCall): Promise<void> {
    // Written down first: the caller has the same object, and may change it while we wait.
    const { lastEventSeq, status, redactions } = snapshot;
    const body = this.#context.payloads.encode(JSON.stringify(snapshot), placeOf(run));
    const current = await this.#load(run, call);
    if (current && isOutdated({ redactions }, current)) return;
    await this.#engine.saveSnapshot(run, { lastEventSeq, status, body }, call);
    // The run may have been deleted while it was folded: its snapshot must not outlive it.
    const head = await this.#engine.head(run, call);
    if (isTombstone(head) && head.kind !== 'restoring') await this.#engine.remove(run, head, call);
  }

  /** Waits for what is being written back of a run, so that its removal comes last. */
  async settled(run: RunKey): Promise<void> {
    await this.#writingBack.get(keyOf(run))?.done;
  }

  /** Stores a snapshot beside the answer: the reader neither waits for it nor fails with it. */
  #writeBack(run: RunKey, snapshot: RunSnapshot, call: EngineCall): void {
    const turn = this.#writingBack.get(keyOf(run));
    if (turn === undefined) {
      const begun = { waiting: snapshot, done: Promise.resolve() };
      this.#writingBack.set(keyOf(run), begun);
      begun.done = this.#writeInTurn(run, begun, call.tenantId);
    } else if (turn.waiting === null || turn.waiting.lastEventSeq < snapshot.lastEventSeq) {
      turn.waiting = snapshot;
    }
  }

  async #writeInTurn(
    run: RunKey,
    turn: { waiting: RunSnapshot | null },
    tenantId: EngineCall['tenantId'],
  ): Promise<void> {
    for (let next = turn.waiting; next; next = turn.waiting) {
      turn.waiting = null;
      const call = { deadline: Date.now() + this.#context.timeoutMs, tenantId };
      // What could not be stored is folded again by the next reader.
      await this.#save(run, next, call).catch(() => undefined);
    }
    this.#writingBack.delete(keyOf(run));
  }

  /** The whole log folded, from a snapshot on; `written` back when much of it was not stored. */
  async #foldOn(run: RunKey, stored: RunSnapshot | null, call: EngineCall) {
    const fold = new RunFold(stored);
    await this.#foldTail(run, fold, Number.POSITIVE_INFINITY, call);
    const isLong = fold.lastEventSeq > 0 && (!stored || fold.lastEventSeq - stored.lastEventSeq >= LONG_TAIL);
    const written = isLong ? fold.snapshot(this.#context.clock()) : null;
    if (written) this.#writeBack(run, written, call);
    return { fold, written };
  }

  async #foldTail(run: RunKey, fold: RunFold, upTo: number, call: EngineCall): Promise<void> {
    let kept = fold.lastEventSeq;
    while (fold.lastEventSeq < upTo) {
      const afterSeq = fold.lastEventSeq;
      const limit = Math.min(FOLD_PAGE, upTo - afterSeq);
      const events = await fetchChecked(this.#engine, run, afterSeq, limit, call);
      for (const event of events) fold.apply(recordOf(this.#context.payloads, run, event));
      if (events.length < limit) return;
      if (fold.lastEventSeq - kept < KEEP_EVERY) continue;
      kept = fold.lastEventSeq;
      this.#writeBack(run, fold.snapshot(this.#context.clock()), call);
    }
  }
}

function keyOf({ tenantId, runId }: RunKey): string {
  return `${tenantId}\0${runId}`;
}

/** Whether a snapshot was folded before a redaction that the other one knows of. */
function isOutdated(snapshot: Pick<RunSnapshot, 'redactions'>, other: Pick<RunSnapshot, 'redactions'>): boolean {
  return (snapshot.redactions ?? 0) < (other.redactions ?? 0);
}

function placeOf({ tenantId, runId }: RunKey): PayloadPlace {
  return { tenantId, kind: 'snapshot', owner: runId };
}

function asIfStored(payloads: Payloads, run: RunKey, event: PreparedEvent, runSeq: number): RunEventRecord {
  return recordOf(payloads, run, { ...event, runSeq, persistedAt: 0 });
}
