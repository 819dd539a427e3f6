/** Searches a whole run for matching events, page by page, and reports its progress. */
import { signal } from '@preact/signals';
import type { RunEventRecord } from '@tidemark/core/portable';
import type { RunSource } from './source.ts';

const PAGE = 1_000;
/** The search stops after this many matches. */
const MAX_MATCHES = 200_000;

export class LogSearch {
  readonly #source: RunSource;
  readonly #matches: (event: RunEventRecord) => boolean;
  readonly #stopping = new AbortController();
  #receivedTo = 0;
  /** The sequences of the matches, in order. */
  readonly seqs = signal<readonly number[]>([]);
  readonly searchedTo = signal(0);
  readonly isDone = signal(false);
  readonly error = signal<unknown>(undefined);

  constructor(source: RunSource, matches: (event: RunEventRecord) => boolean) {
    this.#source = source;
    this.#matches = matches;
    void this.#run();
  }

  /** Checks a live event. If earlier events are missing, reads them first. */
  receive(event: RunEventRecord): void {
    this.#receivedTo = Math.max(this.#receivedTo, event.runSeq);
    if (!this.isDone.value || this.#stopping.signal.aborted) return;
    if (event.runSeq === this.searchedTo.value + 1) this.#take([event]);
    else if (event.runSeq > this.searchedTo.value) void this.#run();
  }

  stop(): void {
    this.#stopping.abort();
    this.isDone.value = true;
  }

  async #run(): Promise<void> {
    const { signal } = this.#stopping;
    this.isDone.value = false;
    try {
      for (let hasMore = true; hasMore && this.seqs.value.length < MAX_MATCHES; ) {
        const receivedBefore = this.#receivedTo;
        const { events } = await this.#source.read(this.searchedTo.value, PAGE, signal);
        this.#take(events);
        // An event received during the read may not be in this page.
        const isBehind = this.#receivedTo > Math.max(receivedBefore, this.searchedTo.value);
        hasMore = events.length === PAGE || isBehind;
      }
    } catch (error) {
      if (!signal.aborted) this.error.value = error;
    }
    this.isDone.value = true;
  }

  #take(events: readonly RunEventRecord[]): void {
    const found = events.filter(this.#matches).map(({ runSeq }) => runSeq);
    if (found.length > 0) this.seqs.value = [...this.seqs.value, ...found];
    this.searchedTo.value = events.at(-1)?.runSeq ?? this.searchedTo.value;
  }
}
