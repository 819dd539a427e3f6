/** Snapshots: read the stored one, fold the tail after it, write it back (RUN-13), mark it stale (RUN-14). */
import type { Payloads } from '../codec/payloads.ts';
import type { StoreContext } from '../context.ts';
import type { PayloadPlace } from '../contracts/codec.ts';
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';
import type { RunEventRecord } from '../contracts/run-events.ts';
import type { RefreshedSnapshot, RunSnapshot } from '../contracts/run-state.ts';
import { type EngineCall, isTombstone, type PreparedEvent, type RunEngine, type RunKey } from '../engine/runs.ts';
import { missingEvent } from './chain.ts';
import { fetchChecked } from './checked-page.ts';
import { liveHead } from './lookup.ts';
import { recordOf } from './prepare.ts';
import { RunFold } from './reducer.ts';

const FOLD_PAGE = 2_000;
/** A reader that folded so many events saves the next one the work. */
const LONG_TAIL = 200;
/** A fold stores what it has after so many events, so that one that runs out of time is continued and not begun again. */
const KEEP_EVERY = 20_000;

/** The starting point of a fold of a live run. */
interface FoldBase {
  /** The run's last sequence and `rewrites`, read before any event is. */
  seq: number;
  rewrites: number;
  /** The stored snapshot, unless the run was rewritten since it was folded. */
  stored: RunSnapshot | null;
  /** Of the stored snapshot, outdated or not. */
  version: number;
}

/** A snapshot on its way into the store, with the `rewrites` that its fold knew. */
interface FoldedSnapshot {
  snapshot: RunSnapshot;
  rewrites: number;
}

export class SnapshotReader {
  readonly #context: StoreContext;
  readonly #engine: RunEngine;
  /** Runs whose snapshot is being written back, each with the newest one that waits for its turn. */
  readonly #writingBack = new Map<string, { waiting: FoldedSnapshot | null; done: Promise<void> }>();

  constructor(context: StoreContext, engine: RunEngine) {
    this.#context = context;
    this.#engine = engine;
  }

  /** The stored snapshot; where there is none yet, projects one and stores it. */
  async stored(run: RunKey, call: EngineCall): Promise<RunSnapshot | null> {
    const base = await this.#base(run, call);
    return base && (base.stored ?? this.current(run, call));
  }

  /** The snapshot of the whole log. */
  async current(run: RunKey, call: EngineCall): Promise<RunSnapshot | null> {
    const folded = await this.#foldOn(run, call);
    if (!folded) return null;
    const { base, fold, written } = folded;
    const { stored } = base;
    if (stored && fold.lastEventSeq === stored.lastEventSeq) return { ...stored, freshness: 'FRESH' };
    return written ?? this.#snapshotOf(fold, base);
  }

  /** The snapshot as it was right after `atSeq`. */
  async at(run: RunKey, atSeq: number, call: EngineCall): Promise<RunSnapshot | null> {
    const folded = await this.#fold(run, call, { upTo: atSeq });
    if (!folded) return null;
    const { fold } = folded;
    if (fold.lastEventSeq < atSeq)
      throw invalidArgument('atSeq', `at most ${fold.lastEventSeq}, the last of the run`, atSeq);
    return fold.snapshot(this.#context.clock());
  }

  /** Folds what is new and stores the result; `null` for an unknown run. */
  async refresh(run: RunKey, call: EngineCall, options?: { anew: boolean }): Promise<RefreshedSnapshot | null> {
    for (;;) {
      const result = await this.#fold(run, call, options);
      if (!result) return null;
      const { base, fold } = result;
      const folded = fold.lastEventSeq - (base.stored?.lastEventSeq ?? 0);
      if (base.stored?.freshness === 'FRESH' && folded === 0) return { snapshot: base.stored, folded };
      const snapshot = this.#snapshotOf(fold, base);
      if (await this.#save(run, { snapshot, rewrites: base.rewrites }, call)) return { snapshot, folded };
    }
  }

  /** Folds the whole log anew and stores that, whatever was stored before: what was redacted since is not in it. */
  async refold(run: RunKey, call: EngineCall): Promise<void> {
    await this.settled(run);
    await this.refresh(run, call, { anew: true });
  }

  /** Marks the stored snapshot as one that is known to lack events; false where none is stored. */
  async markStale(run: RunKey, call: EngineCall): Promise<boolean> {
    const base = await this.#base(run, call);
    if (!base?.stored) return false;
    const { stored, rewrites } = base;
    if (stored.freshness !== 'STALE')
      await this.#save(run, { snapshot: { ...stored, freshness: 'STALE' }, rewrites }, call);
    return true;
  }

  /** Refuses events that the table does not allow as the run stands; gives the sequence it stands at. */
  async checkTransitions(run: RunKey, events: readonly PreparedEvent[], call: EngineCall): Promise<number> {
    const fold = (await this.#foldOn(run, call))?.fold ?? new RunFold();
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

  /** Waits for what is being written back of a run, so that its removal comes last. */
  async settled(run: RunKey): Promise<void> {
    await this.#writingBack.get(keyOf(run))?.done;
  }

  /** `null` for an unknown run. Throws `RUN_ARCHIVED` for an archived one. */
  async #base(run: RunKey, call: EngineCall): Promise<FoldBase | null> {
    const [head, stored] = await Promise.all([liveHead(this.#engine, run, call), this.#engine.loadSnapshot(run, call)]);
    if (!head) return null;
    const snapshot = stored && this.#context.payloads.decode<RunSnapshot>(stored.body, placeOf(run));
    const { seq, rewrites } = head;
    return {
      seq,
      rewrites,
      stored: stored?.rewrites === rewrites ? snapshot : null,
      version: snapshot?.version ?? 0,
    };
  }

  /** Folds a run up to its head, or to a sequence; from the stored snapshot, where it may. `null` for an unknown run. */
  async #fold(
    run: RunKey,
    call: EngineCall,
    { upTo = Number.POSITIVE_INFINITY, anew = false }: { upTo?: number; anew?: boolean } = {},
  ): Promise<{ base: FoldBase; fold: RunFold } | null> {
    for (let known: number | undefined; ; ) {
      const found = await this.#base(run, call);
      if (!found) return null;
      const base = anew ? { ...found, stored: null } : found;
      const { stored, rewrites } = base;
      const fold = new RunFold(stored && stored.lastEventSeq <= upTo ? stored : null);
      await this.#foldTail(run, fold, { upTo, rewrites }, call);
      if (fold.lastEventSeq >= Math.min(base.seq, upTo)) return { base, fold };
      // It was removed, and perhaps put back, while it was read.
      if (rewrites === known) throw missingEvent(run, fold.lastEventSeq + 1);
      known = rewrites;
    }
  }

  async #foldTail(
    run: RunKey,
    fold: RunFold,
    { upTo, rewrites }: { upTo: number; rewrites: number },
    call: EngineCall,
  ): Promise<void> {
    let kept = fold.lastEventSeq;
    while (fold.lastEventSeq < upTo) {
      const afterSeq = fold.lastEventSeq;
      const limit = Math.min(FOLD_PAGE, upTo - afterSeq);
      const events = await fetchChecked(this.#engine, run, afterSeq, limit, call);
      for (const event of events) fold.apply(recordOf(this.#context.payloads, run, event));
      if (events.length < limit) return;
      if (fold.lastEventSeq - kept < KEEP_EVERY) continue;
      kept = fold.lastEventSeq;
      this.#writeBack(run, { snapshot: fold.snapshot(this.#context.clock()), rewrites }, call);
    }
  }

  /** The whole log folded; `written` back when much of it was not stored. */
  async #foldOn(run: RunKey, call: EngineCall) {
    const folded = await this.#fold(run, call);
    if (!folded) return null;
    const { base, fold } = folded;
    const isLong = !base.stored || fold.lastEventSeq - base.stored.lastEventSeq >= LONG_TAIL;
    const written = isLong ? this.#snapshotOf(fold, base) : null;
    if (written) this.#writeBack(run, { snapshot: written, rewrites: base.rewrites }, call);
    return { base, fold, written };
  }

  #snapshotOf(fold: RunFold, base: FoldBase): RunSnapshot {
    return { ...fold.snapshot(this.#context.clock()), version: base.version + 1 };
  }

  /**
   * Stores a snapshot. False when the run was removed or rewritten since the fold began: then the snapshot is outdated,
   * and taken back in case it was stored.
   */
  async #save(run: RunKey, { snapshot, rewrites }: FoldedSnapshot, call: EngineCall): Promise<boolean> {
    // Written down first: the caller has the same object, and may change it while we wait.
    const { lastEventSeq, status } = snapshot;
    const body = this.#context.payloads.encode(JSON.stringify(snapshot), placeOf(run));
    await this.#engine.saveSnapshot(run, { lastEventSeq, status, rewrites, body }, call);
    const head = await this.#engine.head(run, call);
    if (head !== null && !isTombstone(head) && head.rewrites === rewrites) return true;
    // No run that lives now or later has this value any more.
    await this.#engine.dropSnapshot(run, rewrites, call);
    return false;
  }

  /** Stores a snapshot beside the answer: the reader neither waits for it nor fails with it. */
  #writeBack(run: RunKey, folded: FoldedSnapshot, call: EngineCall): void {
    const turn = this.#writingBack.get(keyOf(run));
    if (turn === undefined) {
      const begun = { waiting: folded, done: Promise.resolve() };
      this.#writingBack.set(keyOf(run), begun);
      begun.done = this.#writeInTurn(run, begun, call.tenantId);
    } else if (turn.waiting === null || !isAhead(turn.waiting, folded)) {
      turn.waiting = folded;
    }
  }

  async #writeInTurn(
    run: RunKey,
    turn: { waiting: FoldedSnapshot | null },
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
}

function keyOf({ tenantId, runId }: RunKey): string {
  return `${tenantId}\0${runId}`;
}

function isAhead(a: FoldedSnapshot, b: FoldedSnapshot): boolean {
  return a.rewrites === b.rewrites ? a.snapshot.lastEventSeq >= b.snapshot.lastEventSeq : a.rewrites > b.rewrites;
}

function placeOf({ tenantId, runId }: RunKey): PayloadPlace {
  return { tenantId, kind: 'snapshot', owner: runId };
}

function asIfStored(payloads: Payloads, run: RunKey, event: PreparedEvent, runSeq: number): RunEventRecord {
  return recordOf(payloads, run, { ...event, runSeq, persistedAt: 0 });
}
