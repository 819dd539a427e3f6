/**
 * Checks a page of the feed, event by event, and distinguishes damage from a run that was removed or rewritten while
 * the page was read. Damaged events are skipped only after a durable quarantine entry covers them.
 */
import type { HeldRun } from '../contracts/quarantines.ts';
import type { EngineCall } from '../engine/call.ts';
import type { StoredQuarantine } from '../engine/quarantines.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { FeedEntry, IntactEntry, NoticeEntry, RunEngine } from '../engine/runs.ts';
import { isDamaged, isNotice, isTombstone } from '../engine/runs.ts';
import { LruMap } from '../tools/lru-map.ts';
import { ChainReader, checkPage, missingEvent } from './chain.ts';
import { damageIn } from './prepare.ts';
import type { Quarantine } from './quarantine.ts';

const MAX_ENDS = 32;
/** How many sequences before an event are searched for a gap. */
const LOOK_BACK = 1_000;

interface CheckedPage {
  after: string | null;
  entries: readonly FeedEntry[];
  quarantined: readonly StoredQuarantine[];
  /**
   * Whether this is the last attempt to read the page. On the last attempt, an event that does not match its chain is
   * damaged.
   */
  isLastRead: boolean;
}

interface PageSink {
  /** Processes an event that matches its chain. Throws if its body is damaged. */
  addEvent(entry: IntactEntry): void;
  /** Passes a notice on. */
  addNotice(entry: NoticeEntry): void;
  /** The number of items processed so far. */
  count(): number;
}

/** A run with an event that did not match its chain. */
interface Suspect {
  run: RunKey;
  held: HeldRun;
  reason: string;
}

/** The result of checking the event in the run's own log. */
type Verdict = 'removed' | 'intact' | { fromSeq: number; reason: string; isGap: boolean };

export class FeedChecker {
  readonly #engine: RunEngine;
  readonly #quarantine: Quarantine;
  /**
   * The chain readers at the end of recent pages, by the cursor of the next page. With them, a commit that continues on
   * the next page is not read again from its beginning.
   */
  readonly #ends = new LruMap<string, { key: string; reader: ChainReader; runSeq: number }>(MAX_ENDS);

  constructor(engine: RunEngine, quarantine: Quarantine) {
    this.#engine = engine;
    this.#quarantine = quarantine;
  }

  /**
   * Processes the events that match their chain and returns the skipped runs, or `null` if the page has to be read
   * again.
   */
  async check(page: CheckedPage, sink: PageSink, call: EngineCall): Promise<HeldRun[] | null> {
    const from = new Map(page.quarantined.map((entry) => [keyOf(entry), entry.fromSeq]));
    const readers = this.#continued(page);
    const held = new Map<string, HeldRun>();
    const suspects = new Map<string, Suspect>();
    for (const entry of page.entries) {
      if (isNotice(entry)) {
        sink.addNotice(entry);
        continue;
      }
      const { run } = entry;
      const key = keyOf(run);
      const runSeq = isDamaged(entry) ? entry.runSeq : entry.event.runSeq;
      // A restored run starts again at sequence 1.
      if (runSeq === 1) for (const known of [readers, suspects]) known.delete(key);
      if (suspects.has(key)) continue;
      const skipped = { tenantId: run.tenantId, runId: run.runId, runSeq, index: sink.count() };
      if (runSeq >= (from.get(key) ?? Number.POSITIVE_INFINITY)) {
        if (!held.has(key)) held.set(key, skipped);
        continue;
      }
      const reason = isDamaged(entry) ? entry.damage : await this.#take(entry, readers, sink, call);
      if (reason !== null) {
        readers.delete(key);
        suspects.set(key, { run, held: skipped, reason });
      }
    }
    this.#remember(page.entries.at(-1), readers);
    return this.#judge(suspects, held, page.isLastRead, call);
  }

  /** Checks and processes an event. Returns the reason why it does not match its chain, or `null`. */
  async #take(
    entry: IntactEntry,
    readers: Map<string, ChainReader>,
    sink: PageSink,
    call: EngineCall,
  ): Promise<string | null> {
    const key = keyOf(entry.run);
    try {
      const reader = readers.get(key) ?? (await this.#startReader(entry, call));
      readers.set(key, reader);
      reader.check(entry.event);
      sink.addEvent(entry);
      return null;
    } catch (error) {
      const damage = damageIn(error);
      if (!damage) throw error;
      return damage.reason;
    }
  }

  /**
   * Quarantines damaged runs and ignores removed ones. Returns `null` if a run is intact, in which case the page has to
   * be read again.
   */
  async #judge(
    suspects: ReadonlyMap<string, Suspect>,
    held: Map<string, HeldRun>,
    isLastRead: boolean,
    call: EngineCall,
  ): Promise<HeldRun[] | null> {
    let isAnyIntact = false;
    for (const [key, { run, held: skipped, reason }] of suspects) {
      let verdict = await this.#recheck(run, skipped.runSeq, call);
      if (verdict === 'removed') continue;
      if (verdict === 'intact' && !isLastRead) isAnyIntact = true;
      if (verdict === 'intact') verdict = { fromSeq: skipped.runSeq, reason, isGap: false };
      if (isAnyIntact) continue;
      if (!(await this.#quarantine.note(run, verdict.fromSeq, verdict.reason, call))) continue;
      held.set(key, verdict.isGap ? { ...skipped, runSeq: verdict.fromSeq } : skipped);
    }
    return isAnyIntact ? null : [...held.values()].sort((a, b) => a.index - b.index);
  }

  /** Checks the event in its run's own log. Repeats that if the run is rewritten during the check. */
  async #recheck(run: RunKey, runSeq: number, call: EngineCall): Promise<Verdict> {
    for (;;) {
      const before = await this.#rewritesOf(run, call);
      if (before === null) return 'removed';
      const verdict = await this.#checkInRun(run, runSeq, call);
      const after = await this.#rewritesOf(run, call);
      if (after === null) return 'removed';
      if (after === before) return verdict;
    }
  }

  async #checkInRun(run: RunKey, runSeq: number, call: EngineCall): Promise<Verdict> {
    try {
      const gap = await this.#gapBefore(run, runSeq, call);
      if (gap !== null) return { fromSeq: gap, reason: 'the event is missing', isGap: true };
      const page = await this.#engine.fetch(run, runSeq - 1, 1, call);
      if (page.events.length === 0) throw missingEvent(run, runSeq);
      checkPage(run, runSeq - 1, page);
      return 'intact';
    } catch (error) {
      const damage = damageIn(error);
      if (!damage) throw error;
      return { fromSeq: Math.min(runSeq, damage.runSeq ?? runSeq), reason: damage.reason, isGap: false };
    }
  }

  /** Returns the first sequence of the gap right before an event, or `null` when there is no gap. */
  async #gapBefore(run: RunKey, runSeq: number, call: EngineCall): Promise<number | null> {
    const from = Math.max(0, runSeq - 1 - LOOK_BACK);
    const { events } = await this.#engine.fetch(run, from, runSeq - 1 - from || 1, call);
    const last = events.filter((event) => event.runSeq < runSeq).at(-1)?.runSeq ?? from;
    return last + 1 < runSeq ? last + 1 : null;
  }

  /**
   * Returns the run's `rewrites`, `null` for a removed run, or -1, which counts as unchanged, for a head that cannot be
   * decoded.
   */
  async #rewritesOf(run: RunKey, call: EngineCall): Promise<number | null> {
    const head = await this.#engine.head(run, call).catch((error) => {
      if (damageIn(error)) return undefined;
      throw error;
    });
    if (head === undefined) return -1;
    return head === null || isTombstone(head) ? null : head.rewrites;
  }

  /** Starts a chain reader at an event. Reads the events of its commit that are before this page. */
  async #startReader({ run, event, before }: IntactEntry, call: EngineCall): Promise<ChainReader> {
    const reader = new ChainReader(run, before);
    if (event.commitIndex === 1) return reader;
    const lead = await this.#engine.fetch(run, event.runSeq - event.commitIndex, event.commitIndex - 1, call);
    for (const earlier of lead.events) reader.check(earlier);
    return reader;
  }

  /** Returns the chain reader of the run in which the previous page ended, if this page starts with its next event. */
  #continued({ after, entries }: CheckedPage): Map<string, ChainReader> {
    const first = entries[0];
    const end = after === null ? undefined : this.#ends.peek(after);
    this.#ends.delete(after ?? '');
    const isContinued =
      first &&
      !isDamaged(first) &&
      !isNotice(first) &&
      end?.key === keyOf(first.run) &&
      end.runSeq + 1 === first.event.runSeq;
    return isContinued ? new Map([[end.key, end.reader]]) : new Map();
  }

  #remember(last: FeedEntry | undefined, readers: ReadonlyMap<string, ChainReader>): void {
    if (!last || isDamaged(last) || isNotice(last)) return;
    const key = keyOf(last.run);
    const reader = readers.get(key);
    if (reader) this.#ends.set(last.cursor, { key, reader, runSeq: last.event.runSeq });
  }
}

function keyOf(run: RunKey): string {
  return `${run.tenantId}\0${run.runId}`;
}
