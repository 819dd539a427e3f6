/**
 * Hints that something was stored: immediate within this process, and sent to other processes with batched NOTIFY,
 * outside any write. Each process has one listener. Without one, or when a hint is lost, readers poll.
 */
import { type EngineCall, type RunKey, Signals } from '@tidemark/core/engine';
import pg from 'pg';

export const ANY_RUN = 'runs';

export function topicOf(run: RunKey): string {
  return `run\0${run.tenantId}\0${run.runId}`;
}

/** At most one NOTIFY is sent in this time. */
const BATCH_MS = 20;
const RECONNECT_MS = 1_000;

/** Does not wait for the disk: after a crash nobody listens any more. */
const NOTIFY = "SELECT set_config('synchronous_commit', 'off', true), pg_notify($1, $2)";

export class Notifications {
  readonly #signals = new Signals();
  readonly #pool: pg.Pool;
  readonly #listenUrl: string | null;
  readonly #channel: string;
  #listener: pg.Client | null = null;
  #sending: NodeJS.Timeout | undefined;
  #reconnect: NodeJS.Timeout | undefined;
  #closed = false;

  constructor(pool: pg.Pool, listenUrl: string | null, schema: string) {
    this.#pool = pool;
    this.#listenUrl = listenUrl;
    this.#channel = `tidemark_${schema}`;
  }

  /** Wakes waiters in this process at once, and in other processes a moment later. */
  announce(runs: readonly RunKey[]): void {
    if (runs.length === 0) return;
    if (this.#signals.awaited) {
      for (const run of runs) this.#signals.notify(topicOf(run));
      this.#signals.notify(ANY_RUN);
    }
    this.tellOthers();
  }

  /** Wakes waiters for a topic in this process, and all waiters in others. */
  notify(topic: string): void {
    this.#signals.notify(topic);
    this.tellOthers();
  }

  tellOthers(): void {
    if (this.#closed || this.#listenUrl === null) return;
    this.#sending ??= setTimeout(() => {
      this.#sending = undefined;
      // A lost hint only costs latency.
      this.#pool.query(NOTIFY, [this.#channel, String(process.pid)]).catch(() => {});
    }, BATCH_MS);
  }

  /** Resolves at the next hint, when the call's deadline passes, or when its signal aborts. */
  wait(topic: string, call: EngineCall): Promise<void> {
    this.#listen();
    return this.#signals.wait(topic, call);
  }

  #listen(): void {
    if (this.#listener || this.#closed || this.#listenUrl === null || this.#reconnect) return;
    const listener = new pg.Client({
      connectionString: this.#listenUrl,
      application_name: 'tidemark listener',
      keepAlive: true,
    });
    this.#listener = listener;
    const lost = () => {
      if (this.#listener !== listener) return;
      this.#listener = null;
      listener.end().catch(() => {});
      // Hints were missed during the reconnect, so wake everyone.
      this.#signals.notifyAll();
      if (this.#closed) return;
      this.#reconnect = setTimeout(() => {
        this.#reconnect = undefined;
        if (this.#signals.awaited) this.#listen();
      }, RECONNECT_MS).unref();
    };
    listener.on('error', lost);
    listener.on('end', lost);
    listener.on('notification', () => this.#signals.notifyAll());
    listener
      .connect()
      .then(() => listener.query(`LISTEN "${this.#channel}"`))
      .then(() => this.#signals.notifyAll(), lost);
  }

  async close(): Promise<void> {
    this.#closed = true;
    clearTimeout(this.#sending);
    clearTimeout(this.#reconnect);
    const listener = this.#listener;
    this.#listener = null;
    await listener?.end().catch(() => {});
  }
}
