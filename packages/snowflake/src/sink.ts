/** The sink: a subscription with notices that keeps tables in Snowflake equal to the events of a store. */
import { isTidemarkError, type Store } from '@tidemark/core';
import { checkDuration, sleep } from '@tidemark/core/engine';
import {
  type DeadLetterKey,
  redeliver,
  type Subscription,
  type SubscriptionStatus,
  subscribePages,
} from '@tidemark/runtime';
import { Loader } from './loader.ts';
import { SinkMetrics } from './metrics.ts';
import { checkPageBytes, checkSinkName, readAccount, type SnowflakeSinkOptions } from './options.ts';
import { checkSchema } from './schema/schema.ts';
import { SqlApi } from './sql-api.ts';
import { Stage } from './stage.ts';
import { purge } from './statements.ts';
import { settledVersions } from './versions.ts';

/** Status of a sink in this process. */
export interface SnowflakeSinkStatus extends SubscriptionStatus {
  /** Events that statements of this process stored. */
  loaded: number;
  /** Requests to Snowflake that were retried. */
  requestsRetried: number;
  /** How often rows that are no longer visible were deleted. */
  purges: number;
}

/** A running sink. */
export interface SnowflakeSink extends AsyncDisposable {
  status(): SnowflakeSinkStatus;
  /** Loads a dead letter and removes it. Throws `RUN_NOT_FOUND` if the event is gone. */
  redeliver(letter: DeadLetterKey): Promise<void>;
  /** Stops and releases the shards. The next process repeats a page in progress. */
  stop(): Promise<void>;
}

const DEFAULT_NAME = 'snowflake';

/**
 * Starts a sink: copies the events of a store to Snowflake, and follows redactions and deletions. Any number of
 * processes may run it under one name. Each event is visible exactly once in the views.
 *
 * @throws `INVALID_ARGUMENT` for an invalid option. `SCHEMA_MISMATCH` if the tables were not created, or by a newer
 * version. `UNAUTHENTICATED` if Snowflake refuses the key.
 *
 * @example
 * const sink = await createSnowflakeSink({
 *   store,
 *   account: 'acme-analytics',
 *   user: 'TIDEMARK',
 *   key: readFileSync('tidemark.p8', 'utf8'),
 *   database: 'ANALYTICS',
 *   warehouse: 'LOADING',
 * });
 * await sink.stop();
 */
export async function createSnowflakeSink(options: SnowflakeSinkOptions): Promise<SnowflakeSink> {
  const sink = new RunningSink(options);
  await sink.start();
  return sink;
}

class RunningSink implements SnowflakeSink {
  readonly #options: SnowflakeSinkOptions;
  readonly #name: string;
  readonly #store: Store;
  readonly #schemaName: string;
  readonly #api: SqlApi;
  readonly #pageBytes: number;
  #loader: Loader | null = null;
  readonly #stage: Stage | null;
  readonly #metrics: SinkMetrics;
  readonly #purgeEveryMs: number;
  readonly #stopping = new AbortController();
  #subscription: Subscription | null = null;
  #purging: Promise<void> | null = null;
  #purges = 0;

  constructor(options: SnowflakeSinkOptions) {
    const account = readAccount(options);
    this.#options = options;
    this.#name = checkSinkName(options.name ?? DEFAULT_NAME);
    this.#store = options.store;
    this.#schemaName = account.schemaName;
    this.#api = new SqlApi(account);
    this.#metrics = new SinkMetrics(this.#name, options.meter);
    this.#purgeEveryMs = checkDuration(options.purgeEvery ?? '10m', 'purgeEvery');
    this.#stage = options.stage ? new Stage(options.stage, this.#schemaName) : null;
    this.#pageBytes = checkPageBytes(options.pageBytes);
  }

  async start(): Promise<void> {
    const { shards, pageSize, lease } = this.#options;
    const [api, schemaName] = [this.#api, this.#schemaName];
    await checkSchema(api, schemaName);
    const loader = new Loader({
      ...{ store: this.#store, api, schemaName, pageBytes: this.#pageBytes, stage: this.#stage },
      versions: await settledVersions(this.#store.kv, this.#name, api, schemaName),
      onLoaded: (events, oldest) => this.#metrics.loaded(events, oldest),
    });
    this.#loader = loader;
    this.#subscription = await subscribePages(this.#store, {
      name: this.#name,
      notices: true,
      pageSize: pageSize ?? 5_000,
      ...(shards === undefined ? {} : { shards }),
      ...(lease === undefined ? {} : { lease }),
      onPage: (items, delivery) => loader.load(items, delivery),
      onError: (error) => this.#fail(error),
    });
    this.#purging = this.#purgeLoop();
  }

  status(): SnowflakeSinkStatus {
    return {
      ...this.#subscription!.status(),
      loaded: this.#metrics.events,
      requestsRetried: this.#api.retries,
      purges: this.#purges,
    };
  }

  async redeliver(letter: DeadLetterKey): Promise<void> {
    const { tenantId, runId } = letter;
    const life = (await this.#store.runs.position(runId, { tenantId }))?.life ?? 1;
    await redeliver(this.#store, this.#name, letter, (event) => this.#loader!.loadAgain(event, life));
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await Promise.all([this.#subscription?.stop(), this.#purging]);
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.stop();
  }

  async #purgeLoop(): Promise<void> {
    const { signal } = this.#stopping;
    for (;;) {
      // Several processes rarely purge at the same time.
      await sleep(this.#purgeEveryMs * (0.8 + 0.4 * Math.random()), signal);
      if (signal.aborted) return;
      if (this.#subscription!.status().shards.length === 0) continue;
      try {
        for (const { text, binds } of purge(this.#schemaName)) await this.#api.run(text, binds, signal);
        await this.#stage?.purge();
        this.#purges++;
      } catch (error) {
        this.#fail(error);
      }
    }
  }

  #fail(error: unknown): void {
    if (this.#stopping.signal.aborted && isTidemarkError(error, 'ABORTED')) return;
    this.#metrics.failed();
    this.#options.onError?.(error);
  }
}
