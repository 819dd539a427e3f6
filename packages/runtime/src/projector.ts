/**
 * The projector keeps stored snapshots, and projections of one's own, close behind the log (RUN-14): it follows the feed in
 * any number of processes, folds what is new of each run once, and says when it lags or when a run does not add up.
 */
import {
  type Duration,
  type FeedItem,
  type Histogram,
  isTidemarkError,
  type Meter,
  type Store,
  type TransitionViolation,
} from '@tidemark/core';
import { checkDuration, checkInteger } from '@tidemark/core/engine';
import { checkName } from './checks.ts';
import { type FeedPoint, ShardedFeed } from './feed/sharded-feed.ts';

/** What `defineProjection` gives, as far as the projector needs it. */
export interface ProjectedWithRuns {
  readonly name: string;
  /** Folds what is new of a run and stores it. */
  refresh(store: Store, runId: string, options: { tenantId: string }): Promise<unknown>;
}

/** Something an operator should know of. */
export type ProjectorAlert =
  | { code: 'PROJECTOR_LAG_HIGH'; severity: 'P2'; lagMs: number }
  | { code: 'INVALID_TRANSITION'; severity: 'P3'; tenantId: string; runId: string; violation: TransitionViolation }
  | { code: 'RUN_STALE'; severity: 'P3'; tenantId: string; runId: string; missingSeq: number };

export interface ProjectorOptions {
  store: Store;
  /** Projectors of the same name share the work. Default `snapshots`. */
  name?: string;
  /** Projections of one's own to keep as well. */
  projections?: readonly ProjectedWithRuns[];
  /** Fixed at first use. Default 16. */
  shards?: number;
  /** How long a process may be silent until others take over. Default 10 s. */
  lease?: Duration;
  /** Runs folded at once by each shard. Default 4. */
  concurrency?: number;
  /** Lag above which `PROJECTOR_LAG_HIGH` is raised, once until it has fallen again. Default 5 s. */
  lagAlert?: Duration;
  onAlert?: (alert: ProjectorAlert) => void;
  /** Gets the lag as `tidemark.projector.lag`, in milliseconds, after each page of the feed. */
  meter?: Meter;
  onError?: (error: unknown) => void;
  /** Called at named points, for tests that crash there. */
  probe?: (point: FeedPoint | 'folded') => void;
}

/** How the projector is doing in this process. */
export interface ProjectorStatus {
  shards: number[];
  /** Milliseconds the last event waited between being stored and being in a snapshot; `null` before the first. */
  lagMs: number | null;
  /** Events folded, and refreshes that wrote a snapshot. */
  folded: number;
  refreshed: number;
}

export interface Projector extends AsyncDisposable {
  status(): ProjectorStatus;
  stop(): Promise<void>;
}

/** Watermarks kept in memory; of a run that fell out, the stored snapshot tells. */
const MAX_WATERMARKS = 100_000;

/**
 * Starts to keep snapshots.
 *
 * @example
 * const projector = await createProjector({ store, onAlert: (alert) => log.warn(alert) });
 * await projector.stop();
 */
export async function createProjector(options: ProjectorOptions): Promise<Projector> {
  const projector = new RunningProjector(options);
  await projector.start();
  return projector;
}

/** A run with the events of it that a page brought. */
interface RunNews {
  tenantId: string;
  runId: string;
  firstSeq: number;
  lastSeq: number;
  /** The place in the page of its first event. */
  at: number;
}

class RunningProjector implements Projector {
  readonly #options: ProjectorOptions;
  readonly #feed: ShardedFeed;
  readonly #concurrency: number;
  readonly #lagAlertMs: number;
  readonly #name: string;
  readonly #lag: Histogram | undefined;
  readonly #watermarks = new Map<string, number>();
  readonly #counts = { folded: 0, refreshed: 0 };
  #lagMs: number | null = null;
  #lagging = false;

  constructor(options: ProjectorOptions) {
    this.#options = options;
    this.#concurrency = checkInteger(options.concurrency ?? 4, 'concurrency', 1);
    this.#lagAlertMs = checkDuration(options.lagAlert ?? '5s', 'lagAlert');
    this.#name = checkName(options.name ?? 'snapshots', 'name');
    this.#lag = options.meter?.createHistogram('tidemark.projector.lag', {
      description: 'How long the first event of a page waited between being stored and being in its snapshot',
      unit: 'ms',
    });
    this.#feed = new ShardedFeed({
      store: options.store,
      prefix: `tidemark.projectors.${this.#name}`,
      shards: checkInteger(options.shards ?? 16, 'shards', 1),
      leaseMs: checkDuration(options.lease ?? '10s', 'lease'),
      handle: (items, { signal }) => this.#handle(items, signal),
      isIdempotent: true,
      onError: (error) => options.onError?.(error),
      probe: options.probe,
    });
  }

  start(): Promise<void> {
    return this.#feed.start();
  }

  status(): ProjectorStatus {
    return { shards: this.#feed.shards, lagMs: this.#lagMs, ...this.#counts };
  }

  stop(): Promise<void> {
    return this.#feed.stop();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  /** Brings every run of the page up to date, once each; what failed, and all after it, comes again. */
  async #handle(items: readonly FeedItem[], signal: AbortSignal): Promise<number> {
    const waiting = runsIn(items).filter((run) => this.#isBehind(run));
    let failedAt = items.length;
    const work = async () => {
      for (let run = waiting.shift(); run; run = waiting.shift()) {
        if (signal.aborted) failedAt = Math.min(failedAt, run.at);
        else
          await this.#refresh(run).catch((error) => {
            failedAt = Math.min(failedAt, run.at);
            this.#options.onError?.(error);
          });
      }
    };
    await Promise.all(Array.from({ length: this.#concurrency }, work));
    this.#measureLag(items[0]!.event.persistedAt);
    return failedAt;
  }

  #isBehind(run: RunNews): boolean {
    return (this.#watermarks.get(idOf(run)) ?? 0) < run.lastSeq;
  }

  async #refresh(run: RunNews): Promise<void> {
    const { store, projections = [] } = this.#options;
    const { tenantId, runId } = run;
    const known = this.#watermarks.get(idOf(run));
    try {
      if (known !== undefined && run.firstSeq > known + 1) await this.#markStale(run, known + 1);
      const { snapshot, folded } = await store.runs.refreshSnapshot(runId, { tenantId });
      if (snapshot.lastEventSeq < run.lastSeq) {
        await this.#markStale(run, snapshot.lastEventSeq + 1);
        throw new Error(
          `Run ${JSON.stringify(runId)} can be read up to ${snapshot.lastEventSeq}, its feed is at ${run.lastSeq}`,
        );
      }
      for (const projection of projections) await projection.refresh(store, runId, { tenantId });
      this.#options.probe?.('folded');
      this.#counts.folded += folded;
      this.#counts.refreshed += folded > 0 ? 1 : 0;
      this.#remember(run, snapshot.lastEventSeq);
      const isNew = (violation: TransitionViolation) => violation.runSeq > (known ?? run.firstSeq - 1);
      for (const violation of snapshot.violations.filter(isNew))
        this.#options.onAlert?.({ code: 'INVALID_TRANSITION', severity: 'P3', tenantId, runId, violation });
    } catch (error) {
      // Removed or archived meanwhile: there is nothing left to keep. Damaged: it is quarantined, and its events come again.
      if (!isTidemarkError(error, 'RUN_NOT_FOUND', 'RUN_ARCHIVED', 'RUN_DELETED', 'CORRUPT_EVENT')) throw error;
    }
  }

  async #markStale({ tenantId, runId }: RunNews, missingSeq: number): Promise<void> {
    if (!this.#options.store.info.capabilities['runs.denseSequences']) return;
    await this.#options.store.runs.markStale(runId, { tenantId });
    this.#options.onAlert?.({ code: 'RUN_STALE', severity: 'P3', tenantId, runId, missingSeq });
  }

  #remember(run: RunNews, seq: number): void {
    const id = idOf(run);
    this.#watermarks.delete(id);
    this.#watermarks.set(id, seq);
    if (this.#watermarks.size > MAX_WATERMARKS) this.#watermarks.delete(this.#watermarks.keys().next().value!);
  }

  #measureLag(persistedAt: string): void {
    this.#lagMs = Math.max(0, Date.now() - Date.parse(persistedAt));
    this.#lag?.record(this.#lagMs, { projector: this.#name });
    const isHigh = this.#lagMs > this.#lagAlertMs;
    if (isHigh && !this.#lagging)
      this.#options.onAlert?.({ code: 'PROJECTOR_LAG_HIGH', severity: 'P2', lagMs: this.#lagMs });
    this.#lagging = isHigh;
  }
}

function runsIn(items: readonly FeedItem[]): RunNews[] {
  const runs = new Map<string, RunNews>();
  for (const [at, { event }] of items.entries()) {
    const { tenantId, runId, runSeq } = event;
    const id = idOf(event);
    const run = runs.get(id);
    if (run) run.lastSeq = runSeq;
    else runs.set(id, { tenantId, runId, firstSeq: runSeq, lastSeq: runSeq, at });
  }
  return [...runs.values()];
}

function idOf({ tenantId, runId }: { tenantId: string; runId: string }): string {
  return `${tenantId}\0${runId}`;
}
