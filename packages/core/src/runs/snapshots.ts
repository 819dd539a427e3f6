/**
 * Snapshots: reads the stored snapshot, folds later events into it and writes the result back (RUN-13), or marks it
 * stale (RUN-14). A stored snapshot is used only while it is bound to the run's history. Otherwise the run is folded
 * from its first event.
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
import { sleep } from '../tools/sleep.ts';
import { type BoundSnapshot, boundText, readBound, type UnboundSnapshot } from './bound-snapshot.ts';
import { FIRST_LINK, missingEvent } from './chain.ts';
import { readChecked } from './checked-page.ts';
import { liveHead } from './lookup.ts';
import { recordOf } from './prepare.ts';
import { RunFold } from './reducer.ts';

const FOLD_PAGE = 2_000;
/** A reader that folded at least this many events stores the result, so that the next reader need not fold them. */
const LONG_TAIL = 200;
/** A fold stores its state after this many events, so that after a timeout the next fold continues from there. */
const KEEP_EVERY = 20_000;

/** How long a reader waits at most until the first snapshot of a run is stored. */
const FIRST_SAVE_MS = 1_000;

/** The starting point of a fold of a live run. */
interface FoldBase {
  /** The run's last sequence and `rewrites`, read before any event. */
  seq: number;
  rewrites: number;
  life: number;
  /** The stored snapshot, unless it is wrong or the run was rewritten since it was folded. */
  stored: BoundSnapshot | null;
  /**
   * The stored snapshot that was read, or the snapshot that this fold has stored since. A save replaces only this
   * snapshot.
   */
  over: StoredSnapshot | null;
  /** The version of the stored snapshot, even if it is outdated. */
  version: number;
  /**
   * The `rewrites` of a wrong stored snapshot, otherwise `null`. A wrong snapshot is removed before a fold whose result
   * is stored begins, so that other processes cannot store a state that they folded from it.
   */
  wrong: number | null;
}

/** A fold in progress, with the link of the last folded event. */
interface Folding {
  base: FoldBase;
  fold: RunFold;
  link: Digest;
}

/** A snapshot to be stored, with the base of its fold. */
interface FoldedSnapshot extends BoundSnapshot {
  base: FoldBase;
}

/** A stored snapshot in the form that `verify` inspects. */
export interface FoundSnapshot extends Pick<StoredSnapshot, 'lastEventSeq' | 'rewrites'> {
  found: BoundSnapshot | UnboundSnapshot;
}

const UNDECODABLE: UnboundSnapshot = { problem: 'it cannot be decoded', isOld: false, version: 0 };

export class SnapshotReader {
  readonly #context: StoreContext;
  readonly #engine: RunEngine;
  /** Runs whose snapshot is being written back, each with the latest snapshot that is waiting to be written. */
  readonly #writingBack = new Map<string, { waiting: FoldedSnapshot | null; done: Promise<void> }>();

  constructor(context: StoreContext, engine: RunEngine) {
    this.#context = context;
    this.#engine = engine;
  }

  /**
   * Returns the stored snapshot. If none is stored, folds the run and stores the result before returning it: if a
   * reader got the snapshot before it was stored, a late write-back of an older one could replace it.
   */
  async stored(run: RunKey, call: EngineCall): Promise<RunSnapshot | null> {
    for (;;) {
      const folding = await this.#unlessStored(run, call);
      if (!folding || 'snapshot' in folding) return folding?.snapshot ?? null;
      const { base, fold, link } = folding;
      const snapshot = this.#snapshotOf(fold, base);
      if (await isSavedOrLate(this.#save(run, { snapshot, link, base }, call))) return snapshot;
    }
  }

  /** Returns the snapshot of the whole log. */
  async current(run: RunKey, call: EngineCall): Promise<RunSnapshot | null> {
    const folded = await this.#foldOn(run, call);
    if (!folded) return null;
    const { base, fold, written } = folded;
    const stored = base.stored?.snapshot;
    if (stored && fold.lastEventSeq === stored.lastEventSeq) return { ...stored, freshness: 'FRESH' };
    return written ?? this.#snapshotOf(fold, base);
  }

  /** Returns the snapshot as of the event at `atSeq`. */
  async at(run: RunKey, atSeq: number, call: EngineCall): Promise<RunSnapshot | null> {
    const folded = await this.#fold(run, call, { upTo: atSeq });
    if (!folded) return null;
    const { fold } = folded;
    if (fold.lastEventSeq < atSeq)
      throw invalidArgument('atSeq', `at most ${fold.lastEventSeq}, the last of the run`, atSeq);
    return fold.snapshot(this.#context.clock());
  }

  /**
   * Folds the new events and stores the result. Returns `null` for an unknown run. With `fromStart` it folds from the
   * first event; with `full` it also removes any stored snapshot first.
   */
  async refresh(
    run: RunKey,
    call: EngineCall,
    { fromStart = false, full = false }: { fromStart?: boolean; full?: boolean } = {},
  ): Promise<RefreshedSnapshot | null> {
    if (full) await this.#dropAny(run, call);
    for (;;) {
      const folding = await this.#fold(run, call, { fromStart: fromStart || full, drops: true });
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

  /** Folds the whole log from its first event and stores the result, which no longer contains redacted payloads. */
  async refold(run: RunKey, call: EngineCall): Promise<void> {
    await this.settled(run);
    await this.refresh(run, call, { fromStart: true });
  }

  /** Marks the stored snapshot as stale. Returns false when none is stored. */
  async markStale(run: RunKey, call: EngineCall): Promise<boolean> {
    for (;;) {
      const base = await this.#base(run, call);
      if (!base?.stored) return false;
      const { snapshot, link } = base.stored;
      if (snapshot.freshness === 'STALE') return true;
      if (await this.#save(run, { snapshot: { ...snapshot, freshness: 'STALE' }, link, base }, call)) return true;
    }
  }

  /**
   * Returns the stored snapshot, bound or not, or `null` when none is stored. Throws `CODEC_FAILED` if a key is
   * missing.
   */
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
   * Replaces a wrong snapshot with one folded from the first event. Returns false if the run has been rewritten. The
   * fold continues to the run's head at the time when the wrong snapshot was removed, so that the result does not lag
   * behind a snapshot that others stored and readers saw.
   */
  async replace(run: RunKey, wrong: FoundSnapshot, to: BoundSnapshot & { rewrites: number }, call: EngineCall) {
    await this.#engine.dropSnapshot(run, Math.max(wrong.rewrites, to.rewrites), call);
    for (;;) {
      const base = await this.#base(run, call);
      if (base?.rewrites !== to.rewrites || base.wrong !== null) return false;
      // Another process stored a snapshot first, also folded from the first event.
      if (base.stored) return true;
      const folding = { base, fold: new RunFold(to.snapshot), link: to.link };
      const isContinuous = await this.#foldTail(run, folding, Number.POSITIVE_INFINITY, call);
      if (!isContinuous || folding.fold.lastEventSeq < base.seq) return false;
      const snapshot = this.#snapshotOf(folding.fold, base);
      if (await this.#save(run, { snapshot, link: folding.link, base }, call)) return true;
    }
  }

  /**
   * Returns the run's last sequence. Throws `INVALID_TRANSITION` for events that the transition table does not allow in
   * the run's current state.
   */
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

  /** Waits until pending write-backs of a run are done, so that its removal comes after them. */
  async settled(run: RunKey): Promise<void> {
    await this.#writingBack.get(keyOf(run))?.done;
  }

  async #unlessStored(run: RunKey, call: EngineCall): Promise<BoundSnapshot | Folding | null> {
    const base = await this.#base(run, call);
    return base && (base.stored ?? this.#fold(run, call));
  }

  /** Reads the base of a fold. Returns `null` for an unknown run, throws `RUN_ARCHIVED` for an archived one. */
  async #base(run: RunKey, call: EngineCall): Promise<FoldBase | null> {
    const [seen, stored] = await Promise.all([liveHead(this.#engine, run, call), this.#engine.loadSnapshot(run, call)]);
    // Both were read concurrently, so a snapshot ahead of the head may include an event stored after the head was read.
    const head = seen && stored && isBeyond(stored, seen) ? await liveHead(this.#engine, run, call) : seen;
    if (!head) return null;
    const { seq, rewrites, life } = head;
    const base = { seq, rewrites, life, stored: null, over: stored, version: 0, wrong: null };
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

  /** Treats a snapshot that cannot be decoded as wrong. If a key is missing, decoding the events fails too. */
  #open(run: RunKey, stored: StoredSnapshot): BoundSnapshot | UnboundSnapshot {
    try {
      return readBound(run, this.#context.payloads.open(stored.body, snapshotContext(run)), stored);
    } catch {
      return UNDECODABLE;
    }
  }

  /** Removes any stored snapshot of a live run. */
  async #dropAny(run: RunKey, call: EngineCall): Promise<void> {
    const head = await liveHead(this.#engine, run, call);
    if (head) await this.#engine.dropSnapshot(run, head.rewrites, call);
  }

  /**
   * Folds a run up to its head or to `upTo`, starting from the stored snapshot if it is usable. Returns `null` for an
   * unknown run. With `drops`, removes a wrong snapshot first.
   */
  async #fold(
    run: RunKey,
    call: EngineCall,
    {
      upTo = Number.POSITIVE_INFINITY,
      fromStart = false,
      drops = false,
    }: { upTo?: number; fromStart?: boolean; drops?: boolean } = {},
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
      const base: FoldBase = fromStart || found.wrong !== null ? { ...found, stored: null } : found;
      const from = base.stored && base.stored.snapshot.lastEventSeq <= upTo ? base.stored : null;
      const folding = { base, fold: new RunFold(from?.snapshot, base.life), link: from?.link ?? FIRST_LINK };
      const isContinuous = await this.#foldTail(run, folding, upTo, call);
      if (isContinuous && folding.fold.lastEventSeq >= Math.min(base.seq, upTo)) return folding;
      // The events do not continue the snapshot's history, or the run was removed (and perhaps restored) during the
      // read.
      distrusted = isContinuous ? null : from && base;
      if (distrusted) continue;
      if (base.rewrites === known) throw missingEvent(run, folding.fold.lastEventSeq + 1);
      known = base.rewrites;
    }
  }

  /** Folds the events after the last folded one. Returns false when they do not continue the folded history. */
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

  /** Folds the whole log. Writes the snapshot back, and returns it as `written`, when the folded tail was long. */
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
   * Stores a snapshot. Returns false when another one was stored or dropped since the fold began. Also returns false,
   * and removes the snapshot again, if the run was removed or rewritten.
   */
  async #save(run: RunKey, { snapshot, link, base }: FoldedSnapshot, call: EngineCall): Promise<boolean> {
    // Encode before the first await, because the caller has the same object and may change it.
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
    // No current or later run has this value of `rewrites`.
    await this.#engine.dropSnapshot(run, rewrites, call);
    return false;
  }

  /** Stores a snapshot in the background. The reader does not wait for it, and failures are ignored. */
  #writeBack(run: RunKey, folded: FoldedSnapshot, call: EngineCall): void {
    const pending = this.#writingBack.get(keyOf(run));
    if (pending === undefined) {
      const begun = { waiting: folded, done: Promise.resolve() };
      this.#writingBack.set(keyOf(run), begun);
      begun.done = this.#writePending(run, begun, call.tenantId);
    } else {
      pending.waiting = folded;
    }
  }

  async #writePending(
    run: RunKey,
    pending: { waiting: FoldedSnapshot | null },
    tenantId: EngineCall['tenantId'],
  ): Promise<void> {
    for (let next = pending.waiting; next; next = pending.waiting) {
      pending.waiting = null;
      const call = { deadline: Date.now() + this.#context.timeoutMs, tenantId };
      // If the save fails, the next reader folds the events again.
      await this.#save(run, next, call).catch(() => undefined);
    }
    this.#writingBack.delete(keyOf(run));
  }
}

/** Returns the result of a save, or true if it fails or takes long: the reader gets its snapshot even then. */
async function isSavedOrLate(save: Promise<boolean>): Promise<boolean> {
  const settled = new AbortController();
  const waited = sleep(FIRST_SAVE_MS, settled.signal).then(() => true);
  const result = await Promise.race([save.catch(() => true), waited]);
  settled.abort();
  return result;
}

function keyOf({ tenantId, runId }: RunKey): string {
  return `${tenantId}\0${runId}`;
}

/** Whether a stored snapshot has more events or rewrites than its run. */
function isBeyond(stored: StoredSnapshot, head: RunHead): boolean {
  return stored.rewrites > head.rewrites || (stored.rewrites === head.rewrites && stored.lastEventSeq > head.seq);
}

/** Returns the link of the event right before the first event of a page. */
function linkBefore(page: LogPage): Digest {
  return page.lead.at(-1)?.link ?? page.before?.link ?? FIRST_LINK;
}

function snapshotContext({ tenantId, runId }: RunKey): PayloadContext {
  return { tenantId, kind: 'snapshot', owner: runId };
}

function asIfStored(payloads: Payloads, run: RunKey, event: PreparedEvent, runSeq: number): RunEventRecord {
  return recordOf(payloads, run, { ...event, runSeq, persistedAt: 0 });
}
