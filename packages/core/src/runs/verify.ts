/**
 * Reads a run from its first event to its head. Reports whether the chain is valid (RUN-17), and whether the head's
 * summary, which `listRuns` shows, and the stored snapshot match the events (RUN-14). A wrong snapshot is replaced by
 * the snapshot that was folded during the read.
 */
import { sameJson } from '../checks/json.ts';
import { laterLife } from '../checks/life.ts';
import { isTidemarkError } from '../contracts/errors.ts';
import type { RunSnapshot } from '../contracts/run-state.ts';
import type { RunReadOptions, SnapshotReport, VerifyReport } from '../contracts/runs.ts';
import type { RunKey } from '../engine/run-key.ts';
import type { RunEngine, RunHead, StoredRunEvent } from '../engine/runs.ts';
import { digestBytes } from '../hash.ts';
import type { StoreContext } from '../tools/context.ts';
import { ChainReader, FIRST_LINK } from './chain.ts';
import { type HeadDifference, HeadRules } from './head-rules.ts';
import { liveHead } from './lookup.ts';
import { recordOf } from './prepare.ts';
import { RunFold } from './reducer.ts';
import type { FoundSnapshot, SnapshotReader } from './snapshots.ts';
import { runNotFound } from './view.ts';

const VERIFY_PAGE = 1_000;

type Problem = NonNullable<VerifyReport['problem']>;

/** The dependencies and arguments of one verification. */
interface Reading {
  context: StoreContext;
  engine: RunEngine;
  snapshots: SnapshotReader;
  run: RunKey;
  options: RunReadOptions | undefined;
}

/** Verifies a run up to its current head. Throws `RUN_NOT_FOUND` or `RUN_ARCHIVED` for a run that is not live. */
export async function verifyRun(
  context: StoreContext,
  engine: RunEngine,
  snapshots: SnapshotReader,
  run: RunKey,
  options: RunReadOptions | undefined,
): Promise<VerifyReport> {
  const reading = { context, engine, snapshots, run, options };
  for (;;) {
    // Read before the head, because a snapshot stored later may be ahead of it.
    const stored = await storedSnapshot(reading);
    const head = await readHead(reading);
    const comparison = stored && stored.rewrites >= head.rewrites ? new Comparison(reading, stored, head.life) : null;
    const { events, problem, summary } = await readChain(reading, head, comparison);
    const report = { ...run, events, head: digestBytes(head.link).toString('hex'), ...laterLife(head.life) };
    // A run that was removed or restored during the read is not broken.
    const isRewritten = async () => (await readHead(reading)).rewrites !== head.rewrites;
    if (problem) {
      if (await isRewritten()) continue;
      return { ...report, ok: false, problem };
    }
    const snapshot = comparison?.report(head) ?? null;
    const found = { ...report, ...(summary ? { summary } : {}), ...(snapshot ? { snapshot } : {}) };
    if ((!snapshot || snapshot.ok) && !summary) return { ...found, ok: true };
    if (await isRewritten()) continue;
    if (!snapshot || snapshot.ok) return { ...found, ok: false };
    return { ...found, ok: false, snapshot: { ...snapshot, resynced: await comparison!.resync(head) } };
  }
}

async function readHead({ context, engine, run, options }: Reading): Promise<RunHead> {
  const head = await context.read(options, (call) => liveHead(engine, run, call));
  if (!head) throw runNotFound(run.runId);
  return head;
}

/**
 * Returns `null` if no snapshot is stored, if version 0.1 wrote it (such snapshots are not used), or if this store
 * cannot decode it.
 */
async function storedSnapshot({ context, snapshots, run, options }: Reading): Promise<FoundSnapshot | null> {
  try {
    const stored = await context.read(options, (call) => snapshots.inspect(run, call));
    return stored && 'isOld' in stored.found && stored.found.isOld ? null : stored;
  } catch (error) {
    if (isTidemarkError(error, 'CODEC_FAILED')) return null;
    throw error;
  }
}

/** Returns the number of events that match the chain, and the first problem. */
async function readChain(
  { context, engine, run, options }: Reading,
  head: RunHead,
  comparison: Comparison | null,
): Promise<{ events: number; problem?: Problem; summary?: VerifyReport['summary'] }> {
  const reader = new ChainReader(run);
  const rules = new HeadRules(head);
  let difference: HeadDifference | null = null;
  let [events, link] = [0, FIRST_LINK];
  const broken = (runSeq: number, reason: string) => ({ events, problem: { runSeq, reason } });
  while (events < head.seq) {
    const limit = Math.min(VERIFY_PAGE, head.seq - events);
    const page = await context.read(options, (call) => engine.fetch(run, events, limit, call));
    if (page.events[0]?.runSeq !== events + 1) return broken(events + 1, 'the event is missing');
    for (const event of page.events) {
      const reason = reader.problemOf(event);
      if (reason !== null) return broken(event.runSeq, reason);
      difference = rules.take(event) ?? difference;
      comparison?.add(event);
      events = event.runSeq;
      link = event.link;
    }
  }
  if (link !== head.link) return broken(head.seq, 'the link of the run does not match its last event');
  difference ??= rules.end();
  return difference ? { events, summary: { ...difference } } : { events };
}

/** Folds the events that `verify` reads and compares the state at the stored snapshot's sequence with the snapshot. */
class Comparison {
  readonly #reading: Reading;
  readonly #stored: FoundSnapshot;
  /** `null` once a payload could not be decoded, which makes the comparison impossible. */
  #fold: RunFold | null;
  #problem: string | null;

  constructor(reading: Reading, stored: FoundSnapshot, life: number) {
    this.#fold = new RunFold(null, life);
    this.#reading = reading;
    this.#stored = stored;
    this.#problem = 'problem' in stored.found ? stored.found.problem : 'it is ahead of the last event';
  }

  add(event: StoredRunEvent): void {
    if (!this.#fold) return;
    try {
      this.#fold.apply(recordOf(this.#reading.context.payloads, this.#reading.run, event));
    } catch (error) {
      if (!isTidemarkError(error, 'CODEC_FAILED')) throw error;
      this.#fold = null;
      return;
    }
    const { found, lastEventSeq } = this.#stored;
    if (event.runSeq !== lastEventSeq || 'problem' in found) return;
    if (found.link !== event.link) this.#problem = 'its link is not that of the event at its sequence';
    else if (!isSameState(found.snapshot, this.#fold.snapshot(0)))
      this.#problem = 'it differs from what its events make';
    else this.#problem = null;
  }

  /** Returns the result of the comparison, or `null` when it was impossible. */
  report(head: RunHead): SnapshotReport | null {
    if (!this.#fold) return null;
    const { lastEventSeq: runSeq, rewrites } = this.#stored;
    const problem = rewrites > head.rewrites ? 'it knows of rewrites that the run does not' : this.#problem;
    return { runSeq, ok: problem === null, ...(problem === null ? {} : { problem }) };
  }

  /** Stores the folded snapshot. Returns false if that fails or the run has been rewritten. */
  async resync({ link, rewrites }: RunHead): Promise<boolean> {
    const { context, snapshots, run, options } = this.#reading;
    const to = { snapshot: this.#fold!.snapshot(context.clock()), link, rewrites };
    const { tenantId, runId } = run;
    const write = context.writeOf('runs', 'refreshSnapshot', [runId, { tenantId, full: true }]);
    return context.write(options, write, (call) => snapshots.replace(run, this.#stored, to, call)).catch(() => false);
  }
}

/** Whether two snapshots have the same state, ignoring their time, version and freshness. */
function isSameState(a: RunSnapshot, b: RunSnapshot): boolean {
  const withoutMetadata = ({ projectedAt: _, version: __, freshness: ___, ...state }: RunSnapshot) => state;
  return sameJson(withoutMetadata(a), JSON.parse(JSON.stringify(withoutMetadata(b))));
}
