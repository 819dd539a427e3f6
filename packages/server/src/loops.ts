/** The background loops of a server. Their alerts are logged, and their status is in the metrics. */
import type { Store } from '@tidemark/core';
import { type Loops, type LoopsStatus, startLoops } from '@tidemark/runtime';
import type { Alerts } from './alerts.ts';
import type { Logger } from './logger.ts';

export class ServerLoops {
  readonly #store: Store;
  readonly #alerts: Alerts;
  readonly #logger: Logger;
  #loops: Loops | null = null;
  #starting: Promise<void> | null = null;

  constructor(store: Store, alerts: Alerts, logger: Logger) {
    this.#store = store;
    this.#alerts = alerts;
    this.#logger = logger;
  }

  /** Starts the loops along with the server. If a store does not support the loops, the server runs without them. */
  start(): void {
    this.#starting ??= this.#start();
  }

  async #start(): Promise<void> {
    const { capabilities } = this.#store.info;
    if (!capabilities['runs.feed'] || !capabilities.jobs) return;
    const onError = (error: unknown) => this.#logger.error({ event: 'loop_failed', error: String(error) });
    try {
      this.#loops = await startLoops({
        store: this.#store,
        onAlert: (alert) => this.#alerts.note(alert),
        onError,
      });
    } catch (error) {
      onError(error);
    }
  }

  async stop(): Promise<void> {
    await this.#starting;
    const loops = this.#loops;
    this.#loops = null;
    await loops?.stop();
  }

  /** Returns the status, or `null` while no loops run. */
  status(): LoopsStatus | null {
    return this.#loops?.status() ?? null;
  }

  /** Returns lines in the Prometheus text format. */
  render(): string[] {
    const status = this.status();
    if (!status) return [];
    const { projector, sweeps, deadLetters } = status;
    return [
      ...metric('projector_lag_seconds', 'gauge', 'How long the oldest event waits that is in no snapshot yet.', {
        '': (projector.lagMs ?? 0) / 1_000,
      }),
      ...metric('projector_shards', 'gauge', 'Shards that this process projects.', { '': projector.shards.length }),
      ...metric('projector_folded_total', 'counter', 'Events folded into snapshots.', { '': projector.folded }),
      ...metric('projector_holes_total', 'counter', 'Runs of which events were missing when later ones came.', {
        '': projector.holes,
      }),
      ...metric('projector_resyncs_total', 'counter', 'Snapshots that were marked stale and folded again.', {
        '': projector.resyncs,
      }),
      ...metric('projector_invalid_events_total', 'counter', 'Events that their runs did not allow.', {
        '': projector.invalidEvents,
      }),
      ...metric('projector_damaged_runs', 'gauge', 'Runs that cannot be folded because events are damaged.', {
        '': projector.damagedRuns,
      }),
      ...metric('sweeps_total', 'counter', 'Rounds of sweeps over the jobs of all tenants.', { '': sweeps.rounds }),
      ...metric('swept_jobs_total', 'counter', 'Overdue jobs by outcome.', labelled('outcome', sweeps.jobs)),
      ...metric('sweep_errors_total', 'counter', 'Sweeps of a tenant or a type that failed.', { '': sweeps.errors }),
      ...metric('dead_letters', 'gauge', 'Events that subscriptions gave up on.', { '': deadLetters ?? 0 }),
    ];
  }
}

function labelled(label: string, values: Record<string, number>): Record<string, number> {
  return Object.fromEntries(Object.entries(values).map(([name, value]) => [`{${label}="${name}"}`, value]));
}

function metric(name: string, type: string, help: string, values: Record<string, number>): string[] {
  const lines = Object.entries(values).map(([labels, value]) => `tidemark_${name}${labels} ${value}`);
  return [`# HELP tidemark_${name} ${help}`, `# TYPE tidemark_${name} ${type}`, ...lines];
}
