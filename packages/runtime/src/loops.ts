/**
 * The background loops of a store: the projector, and sweeps over the jobs of every tenant. Any number of processes may
 * run these loops for one store. The processes share the work.
 */
import type { Duration, Store } from '@tidemark/core';
import { checkDuration, sleep } from '@tidemark/core/engine';
import { countDeadLetters } from './dead-letters.ts';
import { createSweeper } from './jobs/sweeper.ts';
import { createProjector, type Projector, type ProjectorAlert, type ProjectorStatus } from './projector.ts';

const OUTCOMES = ['requeued', 'failed', 'released', 'signalled', 'missed'] as const;

/** Options of `startLoops`. */
export interface LoopsOptions {
  store: Store;
  /** Time between rounds of sweeps, varied by up to a fifth. Default 30 s. */
  interval?: Duration;
  onAlert?: (alert: ProjectorAlert) => void;
  onError?: (error: unknown) => void;
}

/** Status of the loops of this process. */
export interface LoopsStatus {
  projector: ProjectorStatus;
  sweeps: {
    /** The number of completed rounds. A round sweeps all tenants. */
    rounds: number;
    /** The number of jobs by outcome. */
    jobs: Record<(typeof OUTCOMES)[number], number>;
    errors: number;
    /** End of the last round, RFC 3339; `null` before the first. */
    lastAt: string | null;
  };
  /** The number of dead letters at the last round; `null` before the first. */
  deadLetters: number | null;
  /** Alerts raised since the start, by code. */
  alerts: Record<string, number>;
}

/** A running projector and its sweeps. `startLoops` returns one. */
export interface Loops extends AsyncDisposable {
  status(): LoopsStatus;
  /** Stops the loops. Resolves once all work in progress has ended. */
  stop(): Promise<void>;
}

/**
 * Starts the projector and the sweeps.
 *
 * @throws `INVALID_ARGUMENT` for an invalid `interval`, and errors of the store while the projector starts.
 *
 * @example
 * const loops = await startLoops({ store, onAlert: (alert) => console.warn(alert) });
 * await loops.stop();
 */
export async function startLoops(options: LoopsOptions): Promise<Loops> {
  const loops = new RunningLoops(options);
  await loops.start();
  return loops;
}

class RunningLoops implements Loops {
  readonly #options: LoopsOptions;
  readonly #intervalMs: number;
  readonly #stopping = new AbortController();
  readonly #alerts: Record<string, number> = {};
  readonly #sweeps: LoopsStatus['sweeps'];
  #deadLetters: number | null = null;
  #projector: Projector | null = null;
  #sweeping: Promise<void> | null = null;

  constructor(options: LoopsOptions) {
    this.#options = options;
    this.#intervalMs = checkDuration(options.interval ?? '30s', 'interval');
    const jobs = { requeued: 0, failed: 0, released: 0, signalled: 0, missed: 0 };
    this.#sweeps = { rounds: 0, jobs, errors: 0, lastAt: null };
  }

  async start(): Promise<void> {
    const { store, onError } = this.#options;
    this.#projector = await createProjector({
      store,
      onAlert: (alert) => this.#report(alert),
      ...(onError ? { onError } : {}),
    });
    this.#sweeping = this.#sweepLoop();
  }

  status(): LoopsStatus {
    const { jobs, ...sweeps } = this.#sweeps;
    return {
      projector: this.#projector!.status(),
      sweeps: { ...sweeps, jobs: { ...jobs } },
      deadLetters: this.#deadLetters,
      alerts: { ...this.#alerts },
    };
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#projector?.stop(), this.#sweeping]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  #report(alert: ProjectorAlert): void {
    this.#alerts[alert.code] = (this.#alerts[alert.code] ?? 0) + 1;
    this.#options.onAlert?.(alert);
  }

  async #sweepLoop(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        for await (const view of this.#views()) await this.#sweep(view);
        this.#deadLetters = await countDeadLetters(this.#options.store);
      } catch (error) {
        this.#fail(error);
      }
      this.#sweeps.rounds++;
      this.#sweeps.lastAt = new Date().toISOString();
      await sleep(this.#intervalMs * (0.8 + 0.4 * Math.random()), signal);
    }
  }

  /** Yields a view of every tenant, or the store itself if it is a view of a single tenant. */
  async *#views(): AsyncGenerator<Store, void, undefined> {
    const { store } = this.#options;
    if (store.info.tenantId !== undefined || !store.info.capabilities.admin) return yield store;
    let cursor: string | undefined;
    do {
      const page = await store.admin.listTenants(cursor === undefined ? {} : { cursor });
      for (const tenantId of page.items) {
        if (this.#stopping.signal.aborted) return;
        yield store.forTenant(tenantId);
      }
      cursor = page.next;
    } while (cursor !== undefined);
  }

  async #sweep(store: Store): Promise<void> {
    const { types, problems } = await createSweeper({ store, signal: this.#stopping.signal }).run();
    for (const counts of Object.values(types))
      for (const outcome of OUTCOMES) this.#sweeps.jobs[outcome] += counts[outcome];
    for (const { error } of problems) this.#fail(error);
  }

  #fail(error: unknown): void {
    if (this.#stopping.signal.aborted) return;
    this.#sweeps.errors++;
    this.#options.onError?.(error);
  }
}
