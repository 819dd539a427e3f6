/** Snapshots: read the stored one, fold the tail after it, write it back (RUN-13). */
import { decodeJson } from '../checks/json.ts';
import type { StoreContext } from '../context.ts';
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';
import type { RunEventRecord, RunSnapshot } from '../contracts/runs.ts';
import type { EngineCall, PreparedEvent, RunEngine, RunKey } from '../engine/runs.ts';
import { checkPage } from './chain.ts';
import { recordOf } from './prepare.ts';
import { RunFold } from './reducer.ts';

const FOLD_PAGE = 2_000;

export class SnapshotReader {
  readonly #context: StoreContext;
  readonly #engine: RunEngine;

  constructor(context: StoreContext, engine: RunEngine) {
    this.#context = context;
    this.#engine = engine;
  }

  /** The stored snapshot; where there is none yet, projects one and stores it. */
  async stored(run: RunKey, call: EngineCall): Promise<RunSnapshot | null> {
    const stored = await this.#engine.loadSnapshot(run, call);
    return stored ? decodeJson<RunSnapshot>(stored.body) : this.current(run, call);
  }

  /** The snapshot of the whole log; stored again when it has grown. */
  async current(run: RunKey, call: EngineCall): Promise<RunSnapshot | null> {
    const stored = await this.#engine.loadSnapshot(run, call);
    const from = stored ? decodeJson<RunSnapshot>(stored.body) : null;
    const fold = new RunFold(from);
    await this.#foldTail(run, fold, Number.POSITIVE_INFINITY, call);
    if (from && fold.lastEventSeq === from.lastEventSeq) return from;
    if (fold.lastEventSeq === 0) return null;
    const snapshot = fold.snapshot(this.#context.clock());
    const { lastEventSeq, status } = snapshot;
    await this.#engine.saveSnapshot(run, { lastEventSeq, status, body: JSON.stringify(snapshot) }, call);
    return snapshot;
  }

  /** The snapshot as it was right after `atSeq`. */
  async at(run: RunKey, atSeq: number, call: EngineCall): Promise<RunSnapshot | null> {
    const stored = await this.#engine.loadSnapshot(run, call);
    const fold = new RunFold(stored && stored.lastEventSeq <= atSeq ? decodeJson<RunSnapshot>(stored.body) : null);
    await this.#foldTail(run, fold, atSeq, call);
    if (fold.lastEventSeq === 0) return null;
    if (fold.lastEventSeq < atSeq)
      throw invalidArgument('atSeq', `at most ${fold.lastEventSeq}, the last of the run`, atSeq);
    return fold.snapshot(this.#context.clock());
  }

  /** Refuses events that the table does not allow as the run stands; gives the sequence it stands at. */
  async checkTransitions(run: RunKey, events: readonly PreparedEvent[], call: EngineCall): Promise<number> {
    const stored = await this.#engine.loadSnapshot(run, call);
    const fold = new RunFold(stored ? decodeJson<RunSnapshot>(stored.body) : null);
    await this.#foldTail(run, fold, Number.POSITIVE_INFINITY, call);
    const seq = fold.lastEventSeq;
    for (const event of events) {
      const violation = fold.apply(asIfStored(run, event, fold.lastEventSeq + 1));
      if (!violation) continue;
      throw new TidemarkError('INVALID_TRANSITION', `${event.eventType} is not allowed here: ${violation.reason}`, {
        field: 'eventType',
        rule: violation.reason,
        runId: run.runId,
      });
    }
    return seq;
  }

  async #foldTail(run: RunKey, fold: RunFold, upTo: number, call: EngineCall): Promise<void> {
    while (fold.lastEventSeq < upTo) {
      const afterSeq = fold.lastEventSeq;
      const limit = Math.min(FOLD_PAGE, upTo - afterSeq);
      const page = await this.#engine.fetch(run, afterSeq, limit, call);
      checkPage(run, afterSeq, page);
      for (const event of page.events) fold.apply(recordOf(run, event));
      if (page.events.length < limit) return;
    }
  }
}

function asIfStored(run: RunKey, event: PreparedEvent, runSeq: number): RunEventRecord {
  return recordOf(run, { ...event, runSeq, persistedAt: 0, commitIndex: 1, link: event.leaf });
}
