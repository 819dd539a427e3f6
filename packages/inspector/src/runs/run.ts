/** The data of one run while its page is open: head, events, snapshot and live updates. */
import { signal } from '@preact/signals';
import type { RunEventRecord, RunSnapshot } from '@tidemark/core/portable';
import { failureAmong } from './event-kinds.ts';
import { EventPages } from './event-pages.ts';
import { RunHistory } from './history.ts';
import type { RunSource } from './source.ts';

/** How long to wait after an event before the snapshot is loaded again. */
const SNAPSHOT_DELAY_MS = 1_000;

export class Run {
  readonly source: RunSource;
  readonly pages: EventPages;
  readonly history: RunHistory;
  /** The last sequence; `null` until it is known. */
  readonly head = signal<number | null>(null);
  readonly snapshot = signal<RunSnapshot | null>(null);
  /** Why the run or its snapshot cannot be loaded. */
  readonly error = signal<unknown>(undefined);
  readonly snapshotError = signal<unknown>(undefined);
  /** The sequence of the event that caused a failure; `null` if the last events contain no such event. */
  readonly failedAt = signal<number | null>(null);
  /** When the first event was stored, in milliseconds since the epoch; `null` until it is known. */
  readonly startedAt = signal<number | null>(null);
  readonly #closing = new AbortController();
  readonly #listeners = new Set<(event: RunEventRecord) => void>();
  #refreshing: ReturnType<typeof setTimeout> | undefined;

  constructor(source: RunSource) {
    this.source = source;
    this.pages = new EventPages(source);
    this.history = new RunHistory(source);
    void this.#open();
  }

  /** Adds a live event. */
  receive(event: RunEventRecord): void {
    this.pages.add(event);
    this.history.receive(event);
    this.head.value = Math.max(this.head.value ?? 0, event.runSeq);
    for (const listener of this.#listeners) listener(event);
    this.#refreshing ??= setTimeout(() => {
      this.#refreshing = undefined;
      void this.loadSnapshot();
    }, SNAPSHOT_DELAY_MS);
  }

  /** Calls the listener for each live event. Returns a function that unsubscribes. */
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

  /** If this fails, the time of the first event is unknown and rows show no offset. */
  async #readStart(signal: AbortSignal): Promise<void> {
    const { events } = await this.source.read(0, 1, signal).catch(() => ({ events: [] }));
    if (events[0]) this.startedAt.value = Date.parse(events[0].persistedAt);
  }

  async #open(): Promise<void> {
    const { signal } = this.#closing;
    try {
      const head = await this.source.head(signal);
      if (head > 0) this.failedAt.value = failureAmong(await this.pages.readEnd(head))?.runSeq ?? null;
      this.head.value = head;
      // Not awaited, because computing the state of a long run takes a while and its events can already be shown.
      if (head > 0) void this.loadSnapshot();
      if (head > 0) void this.#readStart(signal);
    } catch (error) {
      if (!signal.aborted) this.error.value = error;
    }
  }
}
