/** One run while it is looked at: how long it is, its events by sequence, its state, and what is heard of it. */
import { signal } from '@preact/signals';
import type { RunEventRecord, RunSnapshot } from '@tidemark/core/portable';
import { failureAmong } from './event-kinds.ts';
import { EventPages } from './event-pages.ts';
import { RunHistory } from './history.ts';
import type { RunSource } from './source.ts';

/** The state is asked for again no sooner than this after an event. */
const SNAPSHOT_PAUSE_MS = 1_000;

export class Run {
  readonly source: RunSource;
  readonly pages: EventPages;
  readonly history: RunHistory;
  /** The last sequence; `null` until it is known. */
  readonly head = signal<number | null>(null);
  readonly snapshot = signal<RunSnapshot | null>(null);
  /** Why the run, or its state, cannot be shown. */
  readonly error = signal<unknown>(undefined);
  readonly snapshotError = signal<unknown>(undefined);
  /** The event that tells why the run is not well; `null` where all is well or it lies far back. */
  readonly failedAt = signal<number | null>(null);
  readonly #closing = new AbortController();
  readonly #listeners = new Set<(event: RunEventRecord) => void>();
  #refreshing: ReturnType<typeof setTimeout> | undefined;

  constructor(source: RunSource) {
    this.source = source;
    this.pages = new EventPages(source);
    this.history = new RunHistory(source);
    void this.#open();
  }

  /** Takes in an event that was heard of. */
  hear(event: RunEventRecord): void {
    this.pages.add(event);
    this.history.hear(event);
    this.head.value = Math.max(this.head.value ?? 0, event.runSeq);
    for (const listener of this.#listeners) listener(event);
    this.#refreshing ??= setTimeout(() => {
      this.#refreshing = undefined;
      void this.loadSnapshot();
    }, SNAPSHOT_PAUSE_MS);
  }

  /** Calls back for each event that is heard of. */
  onEvent(listener: (event: RunEventRecord) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  async loadSnapshot(): Promise<void> {
    const { signal } = this.#closing;
    try {
      this.snapshot.value = await this.source.snapshot(undefined, signal);
      this.snapshotError.value = undefined;
    } catch (error) {
      if (!signal.aborted) this.snapshotError.value = error;
    }
  }

  close(): void {
    clearTimeout(this.#refreshing);
    this.#closing.abort();
    this.pages.close();
    this.history.close();
  }

  async #open(): Promise<void> {
    const { signal } = this.#closing;
    try {
      const head = await this.source.head(signal);
      if (head > 0) this.failedAt.value = failureAmong(await this.pages.readEnd(head))?.runSeq ?? null;
      this.head.value = head;
      // The state of a long run takes a while to fold; its events need not wait for that.
      if (head > 0) void this.loadSnapshot();
    } catch (error) {
      if (!signal.aborted) this.error.value = error;
    }
  }
}
