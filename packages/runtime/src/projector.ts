/**
 * The projector keeps stored snapshots and custom projections up to date with the log (RUN-14). It can run in any
 * number of processes. It reads the feed, folds new events of each run once, and raises alerts for lag and inconsistent
 * runs.
 */
import {
  type Duration,
  isTidemarkError,
  type Meter,
  OWNER_LABEL,
  type RefreshedSnapshot,
  type Store,
  type TidemarkError,
  type TransitionViolation,
} from '@tidemark/core';
import { checkDuration, checkInteger, isNewLoss, LruMap } from '@tidemark/core/engine';
import { checkName } from './checks.ts';
import { type FeedPoint, ShardedFeed, type ShardItem } from './feed/sharded-feed.ts';
import type { ProjectorAlert, ProjectorStatus } from './projector-alerts.ts';
import { ProjectorMetrics } from './projector-counts.ts';
import { LagWatch } from './projector-lag.ts';
import { LateRuns, type WaitingRun } from './projector-late.ts';

export type { ProjectorAlert, ProjectorStatus } from './projector-alerts.ts';

/** The part of a projection that the projector uses. `defineProjection` returns one. */
export interface ProjectedWithRuns {
  readonly name: string;
  /** Folds the new events of a run and stores the result. */
  refresh(store: Store, runId: string, options: { tenantId: string }): Promise<unknown>;
}

/** Options of `startProjector`. */
export interface ProjectorOptions {
  store: Store;
  /** Projectors with the same name share the work. Default `snapshots`. */
  name?: string;
  /** Custom projections that the projector also keeps up to date. */
  projections?: readonly ProjectedWithRuns[];
  /** Number of shards, fixed at first use. Default 16. */
  shards?: number;
  /** How long a process may be unresponsive before others take over its shards. Default 10 s. */
  lease?: Duration;
  /** Number of runs that each shard folds concurrently. Default 4. */
  concurrency?: number;
  /**
   * Lag above which `PROJECTOR_LAG_HIGH` is raised. The alert is raised again only after the lag has fallen below the
   * limit. Default 5 s.
   */
  lagAlert?: Duration;
  /** Lag above which waiting runs are marked `STALE` and folded by a second worker. Default 10 s. */
  resyncAfter?: Duration;
  onAlert?: (alert: ProjectorAlert) => void;
  /**
   * Records the lag in milliseconds as `tidemark.projector.lag` after each page of the feed, and a counter for each
   * count in the status.
   */
  meter?: Meter;
  onError?: (error: unknown) => void;
  /** Test hook, called at named points. Tests simulate crashes there. */
  probe?: (point: FeedPoint | 'folded') => void;
}

/** A running projector. `startProjector` returns one. */
export interface Projector extends AsyncDisposable {
  status(): ProjectorStatus;
  stop(): Promise<void>;
}

/** The maximum number of watermarks kept in memory. For other runs, the stored snapshot is read. */
const MAX_WATERMARKS = 100_000;
const MAX_DAMAGED = 10_000;
/** An idle feed is read every second. The feed counts as unreadable only after this time. */
const SILENCE_MS = 3_000;
/**
 * How often cursors are stored. Storing every shard's cursor after each page would cost more, and folding events again
 * after a crash changes nothing.
 */
const NOTE_EVERY_MS = 1_000;

/**
 * Starts a projector that keeps snapshots and projections up to date. Any number of processes may run it.
 *
 * @throws `INVALID_ARGUMENT` for an invalid option, or if the name was started with another number of shards.
 *
 * @example
 * const projector = await createProjector({ store, onAlert: (alert) => console.warn(alert) });
 * await projector.stop();
 */
export async function createProjector(options: ProjectorOptions): Promise<Projector> {
  const projector = new RunningProjector(options);
  await projector.start();
  return projector;
}

/** A run and its events on a page. */
interface RunNews extends WaitingRun {
  firstSeq: number;
  lastSeq: number;
  /** Index of the run's first event in the page. */
  at: number;
}

/** How far a run has been folded. */
interface Watermark {
  seq: number;
  invalid: number;
  rewrites: number | undefined;
  /** Absent in the first life of the run. */
  life: number | undefined;
}

class RunningProjector implements Projector {
  readonly #options: ProjectorOptions;
  readonly #feed: ShardedFeed;
  readonly #watch: LagWatch;
  readonly #metrics: ProjectorMetrics;
  readonly #concurrency: number;
  readonly #late: LateRuns;
  readonly #watermarks = new LruMap<string, Watermark>(MAX_WATERMARKS);
  /** The first missing sequence of each run with a hole. */
  readonly #holes = new Map<string, number>();
  readonly #damaged = new LruMap<string, true>(MAX_DAMAGED);

  constructor(options: ProjectorOptions) {
    this.#options = options;
    this.#concurrency = checkInteger(options.concurrency ?? 4, 'concurrency', 1);
    const resyncMs = checkDuration(options.resyncAfter ?? '10s', 'resyncAfter');
    const name = checkName(options.name ?? 'snapshots', 'name');
    this.#metrics = new ProjectorMetrics(name, options.meter);
    this.#late = new LateRuns({
      store: options.store,
      resyncMs,
      onResync: (folded) => {
        this.#metrics.add('resyncs', 1);
        this.#metrics.add('folded', folded);
      },
      onError: (error) => options.onError?.(error),
    });
    this.#watch = new LagWatch({
      measure: () => this.#lagMs(),
      alertMs: checkDuration(options.lagAlert ?? '5s', 'lagAlert'),
      onHigh: (lagMs) => options.onAlert?.({ code: 'PROJECTOR_LAG_HIGH', severity: 'P2', lagMs }),
      onLook: () => void this.#late.resync(),
    });
    this.#feed = new ShardedFeed({
      store: options.store,
      prefix: `tidemark.projectors.${name}`,
      shards: checkInteger(options.shards ?? 16, 'shards', 1),
      leaseMs: checkDuration(options.lease ?? '10s', 'lease'),
      handle: (items, { signal }) => this.#handle(items, signal),
      isIdempotent: true,
      noteEveryMs: NOTE_EVERY_MS,
      onError: (error) => options.onError?.(error),
      probe: options.probe,
    });
  }

  async start(): Promise<void> {
    await this.#feed.start();
    this.#watch.start();
  }

  status(): ProjectorStatus {
    const { shards } = this.#feed;
    return { shards, lagMs: this.#lagMs(), ...this.#metrics.counts, damagedRuns: this.#damaged.size };
  }

  async stop(): Promise<void> {
    this.#watch.stop();
    await Promise.all([this.#feed.stop(), this.#late.settled()]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #lagMs(): number | null {
    const [{ handledUpTo }, { oldest }, now] = [this.#feed, this.#late, Date.now()];
    if (handledUpTo === null && oldest === null) return null;
    const unread = now - (handledUpTo ?? now);
    return Math.max(0, now - (oldest ?? now), unread > SILENCE_MS ? unread : 0);
  }

  /**
   * Refreshes every run of the page once. Returns the index of the first event that has to be delivered again after a
   * failure.
   */
  async #handle(items: readonly ShardItem[], signal: AbortSignal): Promise<number> {
    const news = runsIn(items);
    if (news.length === 0) return items.length;
    for (const run of news) this.#late.add(run);
    this.#watch.look();
    const queue = [...news];
    let failedAt = items.length;
    const work = async () => {
      for (let run = queue.shift(); run; run = queue.shift()) {
        if (signal.aborted) failedAt = Math.min(failedAt, run.at);
        else
          await this.#refresh(run).catch((error) => {
            failedAt = Math.min(failedAt, run.at);
            this.#options.onError?.(error);
          });
        this.#late.remove(run);
      }
    };
    await Promise.all(Array.from({ length: this.#concurrency }, work));
    this.#metrics.lag(Math.max(0, Date.now() - news[0]!.since));
    return failedAt;
  }

  async #refresh(run: RunNews): Promise<void> {
    const { store, projections = [] } = this.#options;
    const { tenantId, runId } = run;
    const known = this.#watermarks.peek(idOf(run));
    try {
      if (known && run.lastSeq <= known.seq && !(await this.#hasChanged(run, known))) return;
      const missingSeq = known && run.firstSeq > known.seq + 1 ? known.seq + 1 : null;
      if (missingSeq !== null) await this.#markStale(run, missingSeq);
      const refreshed = await store.runs.refreshSnapshot(runId, { tenantId });
      const { snapshot, folded } = refreshed;
      this.#compareHeads(run, known, refreshed);
      if (snapshot.lastEventSeq < run.lastSeq) {
        if (known && snapshot.lastEventSeq < known.seq) this.#remember(run, refreshed);
        await this.#markStale(run, snapshot.lastEventSeq + 1);
        throw new Error(
          `Run ${JSON.stringify(runId)} can be read up to ${snapshot.lastEventSeq}, its feed is at ${run.lastSeq}`,
        );
      }
      for (const projection of projections) await projection.refresh(store, runId, { tenantId });
      this.#options.probe?.('folded');
      this.#metrics.add('folded', folded);
      this.#metrics.add('refreshed', folded > 0 ? 1 : 0);
      this.#metrics.add('resyncs', missingSeq === null ? 0 : 1);
      this.#damaged.delete(idOf(run));
      this.#holes.delete(idOf(run));
      this.#remember(run, refreshed);
      // A watermark of an earlier life does not apply to this life.
      this.#reportInvalid(run, known?.life === snapshot.life ? known : undefined, refreshed);
    } catch (error) {
      // Damaged runs are quarantined, and their events are delivered again after a release. Removed and archived runs
      // need no snapshot.
      if (isTidemarkError(error, 'CORRUPT_EVENT')) this.#noteDamage(run, error);
      else if (!isTidemarkError(error, 'RUN_NOT_FOUND', 'RUN_ARCHIVED', 'RUN_DELETED')) throw error;
    }
  }

  /** Whether a run whose events are delivered again was restored or rewritten, or lost events in a failover. */
  async #hasChanged({ tenantId, runId }: RunNews, known: Watermark): Promise<boolean> {
    const position = await this.#options.store.runs.position(runId, { tenantId });
    if (!position) return false;
    return position.lastEventSeq < known.seq || (known.rewrites ?? position.rewrites) !== position.rewrites;
  }

  #compareHeads(
    { tenantId, runId }: RunNews,
    known: Watermark | undefined,
    { snapshot, rewrites }: RefreshedSnapshot,
  ): void {
    const currentSeq = snapshot.lastEventSeq;
    if (!known || currentSeq >= known.seq || rewrites === undefined || rewrites !== known.rewrites) return;
    const { seq: knownSeq } = known;
    const { onAlert, store } = this.#options;
    const loss = { tenantId, runId, knownSeq, currentSeq };
    // The store may have reported the loss already, or may not track this run.
    if (onAlert && isNewLoss(store, loss)) onAlert({ code: 'HEAD_WENT_BACK', severity: 'P1', ...loss });
  }

  /** Raises an alert for each violation that the snapshot lists, and one alert for all others. */
  #reportInvalid(run: RunNews, known: Watermark | undefined, { snapshot, invalid = 0 }: RefreshedSnapshot): void {
    const { tenantId, runId } = run;
    const isNew = (violation: TransitionViolation) => violation.runSeq > (known?.seq ?? run.firstSeq - 1);
    const listed = snapshot.violations.filter(isNew);
    const invalidEvents = snapshot.invalidEvents ?? snapshot.violations.length;
    const count = Math.max(listed.length, known ? invalidEvents - known.invalid : invalid);
    this.#metrics.add('invalidEvents', count);
    for (const violation of listed)
      this.#options.onAlert?.({ code: 'INVALID_TRANSITION', severity: 'P3', tenantId, runId, violation });
    const unlisted = { code: 'INVALID_TRANSITIONS_UNLISTED', severity: 'P3', tenantId, runId, invalidEvents } as const;
    if (count > listed.length) this.#options.onAlert?.({ ...unlisted, count: count - listed.length });
  }

  /** Reports a damaged run once. Its events count as handled, so that the other runs continue. */
  #noteDamage(run: RunNews, { message: reason, runSeq }: TidemarkError): void {
    const { tenantId, runId } = run;
    const id = idOf(run);
    if (this.#damaged.has(id)) return;
    this.#damaged.set(id, true);
    const where = runSeq === undefined ? {} : { runSeq };
    this.#options.onAlert?.({ code: 'RUN_DAMAGED', severity: 'P2', tenantId, runId, ...where, reason });
  }

  /** Marks a run with missing events as stale, and reports each hole once. */
  async #markStale(run: RunNews, missingSeq: number): Promise<void> {
    const { tenantId, runId } = run;
    if (!this.#options.store.info.capabilities['runs.denseSequences']) return;
    await this.#options.store.runs.markStale(runId, { tenantId });
    if (this.#holes.get(idOf(run)) === missingSeq) return;
    this.#holes.set(idOf(run), missingSeq);
    this.#metrics.add('holes', 1);
    this.#options.onAlert?.({ code: 'RUN_STALE', severity: 'P3', tenantId, runId, missingSeq });
  }

  #remember(run: RunNews, { snapshot, rewrites }: RefreshedSnapshot): void {
    const id = idOf(run);
    const invalid = snapshot.invalidEvents ?? snapshot.violations.length;
    this.#watermarks.set(id, { seq: snapshot.lastEventSeq, life: snapshot.life, invalid, rewrites });
  }
}

/** Returns the runs with events on the page. Runs of adapters are left out, because their snapshots are never read. */
function runsIn(items: readonly ShardItem[]): RunNews[] {
  const runs = new Map<string, RunNews>();
  for (const [at, item] of items.entries()) {
    // Notices do not occur, because the projector does not request them.
    if (!('event' in item)) continue;
    const { event } = item;
    if (event.labels?.[OWNER_LABEL] !== undefined) continue;
    const { tenantId, runId, runSeq } = event;
    const id = idOf(event);
    const run = runs.get(id);
    if (run) run.lastSeq = runSeq;
    else {
      const since = Date.parse(event.persistedAt);
      runs.set(id, { tenantId, runId, firstSeq: runSeq, lastSeq: runSeq, since, at });
    }
  }
  return [...runs.values()];
}

function idOf({ tenantId, runId }: { tenantId: string; runId: string }): string {
  return `${tenantId}\0${runId}`;
}
