/**
 * Snapshots: read the stored one, fold the tail after it, write it back (RUN-13), mark it stale (RUN-14). A stored snapshot is
 * used only while it is bound to the run's history; otherwise it counts as absent and the run is folded from its first event.
 */
import { isDamagedPayload } from '../codec/failure.ts';
import type { Payloads } from '../codec/payloads.ts';
import type { PayloadContext } from '../contracts/codec.ts';
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';
import type { RunEventRecord } from '../contracts/run-events.ts';
import type { RefreshedSnapshot, RunSnapshot } from '../contracts/run-state.ts';
import type { EngineCall } from '../engine/call.ts';
import type { RunKey } from '../engine/run-key.ts';
import {
  isTombstone,
  type LogPage,
  type PreparedEvent,
  type RunEngine,
  type RunHead,
  type StoredSnapshot,
} from '../engine/runs.ts';
import type { Digest } from '../hash.ts';
import type { StoreContext } from '../tools/context.ts';
import { type BoundSnapshot, boundText, readBound, type UnboundSnapshot } from './bound-snapshot.ts';
import { FIRST_LINK, missingEvent } from './chain.ts';
import { readChecked } from './checked-page.ts';
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
  /** The stored snapshot, unless it is wrong or the run was rewritten since it was folded. */
  stored: BoundSnapshot | null;
  /** The stored snapshot as it was read, or the one that this fold stored since: only in its place another one is stored. */
  over: StoredSnapshot | null;
  /** Of the stored snapshot, outdated or not. */
  version: number;
  /**
   * The `rewrites` of a stored snapshot that is wrong, `null` when there is none. It is removed before the fold begins whose
   * result is stored: others then store nothing that they folded on from it.
   */
  wrong: number | null;
}

/** A fold under way, with the link of the last event that was folded in. */
interface Folding {
  base: FoldBase;
  fold: RunFold;
  link: Digest;
}

/** A snapshot on its way into the store, with what its fold knew of the run. */
interface FoldedSnapshot extends BoundSnapshot {
  base: FoldBase;
}

/** A stored snapshot as `verify` looks at it. */
export interface FoundSnapshot extends Pick<StoredSnapshot, 'lastEventSeq' | 'rewrites'> {
  found: BoundSnapshot | UnboundSnapshot;
}

const UNDECODABLE: UnboundSnapshot = { problem: 'it cannot be decoded', isOld: false, version: 0 };

export class SnapshotReader {
  readonly #context: StoreContext;
  readonly #engine: RunEngine;
  /** Runs whose snapshot is being written back, each with the last one that waits for its turn. */
  readonly #writingBack = new Map<string, { waiting: FoldedSnapshot | null; done: Promise<void> }>();

  constructor(context: StoreContext, engine: RunEngine) {
    this.#context = context;
    this.#engine = engine;
  }

  /** The stored snapshot; where there is none yet, projects one and stores it. */
  async stored(run: RunKey, call: EngineCall): Promise<RunSnapshot | null> {
    const base = await this.#base(run, call);
    return base && (base.stored?.snapshot ?? this.current(run, call));
  }

  /** The snapshot of the whole log. */
  async current(run: RunKey, call: EngineCall): Promise<RunSnapshot | null> {
    const folded = await this.#foldOn(run, call);
    if (!folded) return null;
    const { base, fold, written } = folded;
    const stored = base.stored?.snapshot;
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

  /**
   * Folds what is new and stores the result; `null` for an unknown run. With `anew` it folds from the first event, with `full`
   * it replaces whatever is stored by that.
   */
  async refresh(
    run: RunKey,
    call: EngineCall,
    { anew = false, full = false }: { anew?: boolean; full?: boolean } = {},
  ): Promise<RefreshedSnapshot | null> {
    if (full) await this.#dropAny(run, call);
    for (;;) {
      const folding = await this.#fold(run, call, { anew: anew || full, drops: true });
      if (!folding) return null;
      const { base, fold, link } = folding;
      const before = base.stored?.snapshot;
      const folded = fold.lastEventSeq - (before?.lastEventSeq ?? 0);
      const { rewrites } = base;
      if (before?.freshness === 'FRESH' && folded === 0) return { snapshot: before, folded, rewrites };
      const snapshot = this.#snapshotOf(fold, base);
      if (!(await this.#save(run, { snapshot, link, base }, call))) continue;
      const invalid = (snapshot.invalidEvents ?? 0) - (before?.invalidEvents ?? 0);
      return { snapshot, folded, ...(invalid > 0 ? { invalid } : {}), rewrites };
    }
  }

  /** Folds the whole log anew and stores that, whatever was stored before: what was redacted since is not in it. */
  async refold(run: RunKey, call: EngineCall): Promise<void> {
    await this.settled(run);
    await this.refresh(run, call, { anew: true });
  }

  /** Marks the stored snapshot as one that is known to lack events; false where none is stored. */
  async markStale(run: RunKey, call: EngineCall): Promise<boolean> {
    for (;;) {
      const base = await this.#base(run, call);
      if (!base?.stored) return false;
      const { snapshot, link } = base.stored;
      if (snapshot.freshness === 'STALE') return true;
      if (await this.#save(run, { snapshot: { ...snapshot, freshness: 'STALE' }, link, base }, call)) return true;
    }
  }

  /** The stored snapshot as it is, bound or not; `null` where none is stored. Throws `CODEC_FAILED` where a key is missing. */
  async inspect(run: RunKey, call: EngineCall): Promise<FoundSnapshot | null> {
    const stored = await this.#engine.loadSnapshot(run, call);
    if (!stored) return null;
    const { lastEventSeq, rewrites } = stored;
    try {
      const text = this.#context.payloads.open(stored.body, snapshotContext(run));
      return { lastEventSeq, rewrites, found: readBound(run, text, stored) };
    } catch (error) {
      if (isDamagedPayload(error)) return { lastEventSeq, rewrites, found: UNDECODABLE };
      throw error;
    }
  }

  /**
   * Stores what was folded from the first event in place of a wrong snapshot; false when the run was rewritten meanwhile. The
   * fold goes on to the head that the run has after the wrong one was removed: what is stored must not fall behind what others
   * stored and readers saw.
   */
  async replace(run: RunKey, wrong: FoundSnapshot, to: BoundSnapshot & { rewrites: number }, call: EngineCall) {
    await this.#engine.dropSnapshot(run, Math.max(wrong.rewrites, to.rewrites), call);
    for (;;) {
      const base = await this.#base(run, call);
      if (base?.rewrites !== to.rewrites || base.wrong !== null) return false;
      // Somebody was quicker, and folded from the first event as well.
      if (base.stored) return true;
      const folding = { base, fold: new RunFold(to.snapshot), link: to.link };
      const isContinuous = await this.#foldTail(run, folding, Number.POSITIVE_INFINITY, call);
      if (!isContinuous || folding.fold.lastEventSeq < base.seq) return false;
      const snapshot = this.#snapshotOf(folding.fold, base);
      if (await this.#save(run, { snapshot, link: folding.link, base }, call)) return true;
    }
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
    const [seen, stored] = await Promise.all([liveHead(this.#engine, run, call), this.#engine.loadSnapshot(run, call)]);
    // Both were read at once: a snapshot that is ahead may be of an event that came after the head was read.
    const head = seen && stored && isBeyond(stored, seen) ? await liveHead(this.#engine, run, call) : seen;
    if (!head) return null;
    const { seq, rewrites } = head;
    const base = { seq, rewrites, stored: null, over: stored, version: 0, wrong: null };
    if (!stored) return base;
    const found = this.#open(run, stored);
    if ('problem' in found) return { ...base, version: found.version, wrong: stored.rewrites };
    const { version } = found.snapshot;
    if (stored.rewrites < rewrites) return { ...base, version };
    const isOfThisRun = !isBeyond(stored, head) && (stored.lastEventSeq < seq || found.link === head.link);
    if (isOfThisRun) return { ...base, version, stored: found };
    this.#context.reportWentBack(run, stored.lastEventSeq, seq);
    return { ...base, version, wrong: stored.rewrites };
  }

  /** A snapshot that cannot be decoded counts as absent; where a key is missing, the events cannot be decoded either. */
  #open(run: RunKey, stored: StoredSnapshot): BoundSnapshot | UnboundSnapshot {
    try {
      return readBound(run, this.#context.payloads.open(stored.body, snapshotContext(run)), stored);
    } catch {
      return UNDECODABLE;
    }
  }

  /** Removes whatever snapshot is stored of a live run. */
  async #dropAny(run: RunKey, call: EngineCall): Promise<void> {
    const head = await liveHead(this.#engine, run, call);
    if (head) await this.#engine.dropSnapshot(run, head.rewrites, call);
  }

  /**
   * Folds a run up to its head, or to a sequence; from the stored snapshot, where it may. `null` for an unknown run. With
   * `drops` a wrong snapshot is removed first.
   */
  async #fold(
    run: RunKey,
    call: EngineCall,
    {
      upTo = Number.POSITIVE_INFINITY,
      anew = false,
      drops = false,
    }: { upTo?: number; anew?: boolean; drops?: boolean } = {},
  ): Promise<Folding | null> {
    let known: number | undefined;
    let distrusted: FoldBase | null = null;
    let version = 0;
    for (;;) {
      const found = await this.#base(run, call);
      if (!found) return null;
      if (distrusted && found.rewrites === distrusted.rewrites) {
        this.#context.reportWentBack(run, distrusted.stored!.snapshot.lastEventSeq, found.seq);
        found.wrong = found.rewrites;
      }
      found.version = Math.max(version, found.version);
      if (drops && found.wrong !== null) {
        await this.#engine.dropSnapshot(run, found.wrong, call);
        [version, distrusted] = [found.version, null];
        continue;
      }
      const base: FoldBase = anew || found.wrong !== null ? { ...found, stored: null } : found;
      const from = base.stored && base.stored.snapshot.lastEventSeq <= upTo ? base.stored : null;
      const folding = { base, fold: new RunFold(from?.snapshot), link: from?.link ?? FIRST_LINK };
      const isContinuous = await this.#foldTail(run, folding, upTo, call);
      if (isContinuous && folding.fold.lastEventSeq >= Math.min(base.seq, upTo)) return folding;
      // The events do not continue the history of the snapshot, or the run was removed, and perhaps put back, while it was read.
      distrusted = isContinuous ? null : from && base;
      if (distrusted) continue;
      if (base.rewrites === known) throw missingEvent(run, folding.fold.lastEventSeq + 1);
      known = base.rewrites;
    }
  }

  /** False when the events that were read do not continue what was folded before them. */
  async #foldTail(run: RunKey, folding: Folding, upTo: number, call: EngineCall): Promise<boolean> {
    const { fold, base } = folding;
    let kept = fold.lastEventSeq;
    while (fold.lastEventSeq < upTo) {
      const afterSeq = fold.lastEventSeq;
      const limit = Math.min(FOLD_PAGE, upTo - afterSeq);
      const page = await readChecked(this.#engine, run, afterSeq, limit, call);
      const last = page?.events.at(-1);
      if (!page || !last) return true;
      if (linkBefore(page) !== folding.link) return false;
      for (const event of page.events) fold.apply(recordOf(this.#context.payloads, run, event));
      folding.link = last.link;
      if (page.events.length < limit) return true;
      if (fold.lastEventSeq - kept < KEEP_EVERY) continue;
      kept = fold.lastEventSeq;
      this.#writeBack(run, { snapshot: fold.snapshot(this.#context.clock()), link: folding.link, base }, call);
    }
    return true;
  }

  /** The whole log folded; `written` back when much of it was not stored. */
  async #foldOn(run: RunKey, call: EngineCall) {
    const folded = await this.#fold(run, call);
    if (!folded) return null;
    const { base, fold, link } = folded;
    const isLong = !base.stored || fold.lastEventSeq - base.stored.snapshot.lastEventSeq >= LONG_TAIL;
    const written = isLong ? this.#snapshotOf(fold, base) : null;
    if (written) this.#writeBack(run, { snapshot: written, link, base }, call);
    return { base, fold, written };
  }

  #snapshotOf(fold: RunFold, base: FoldBase): RunSnapshot {
    return { ...fold.snapshot(this.#context.clock()), version: base.version + 1 };
  }

  /**
   * Stores a snapshot. False when another one was stored or dropped since the fold began, or the run was removed or rewritten:
   * then the snapshot is outdated, and taken back in case it was stored.
   */
  async #save(run: RunKey, { snapshot, link, base }: FoldedSnapshot, call: EngineCall): Promise<boolean> {
    // Written down first: the caller has the same object, and may change it while we wait.
    const { lastEventSeq, status } = snapshot;
    const { rewrites, wrong, over } = base;
    const body = this.#context.payloads.encode(boundText(run, { snapshot, link }, rewrites), snapshotContext(run));
    if (wrong !== null) {
      await this.#engine.dropSnapshot(run, wrong, call);
      return false;
    }
    const stored = { lastEventSeq, rewrites, body };
    const isStored = await this.#engine.saveSnapshot(run, { ...stored, status }, call, over);
    if (isStored) base.over = stored;
    const head = await this.#engine.head(run, call);
    if (head !== null && !isTombstone(head) && head.rewrites === rewrites) return isStored;
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
    } else {
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

/** Whether a stored snapshot knows of more than its run has. */
function isBeyond(stored: StoredSnapshot, head: RunHead): boolean {
  return stored.rewrites > head.rewrites || (stored.rewrites === head.rewrites && stored.lastEventSeq > head.seq);
}

/** The link of the event right before the first one of a page. */
function linkBefore(page: LogPage): Digest {
  return page.lead.at(-1)?.link ?? page.linkBefore;
}

function snapshotContext({ tenantId, runId }: RunKey): PayloadContext {
  return { tenantId, kind: 'snapshot', owner: runId };
}

function asIfStored(payloads: Payloads, run: RunKey, event: PreparedEvent, runSeq: number): RunEventRecord {
  return recordOf(payloads, run, { ...event, runSeq, persistedAt: 0 });
}
