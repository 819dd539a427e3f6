/**
 * The events of a run by sequence, fetched in pages around the current view. Keeps a limited number of pages and evicts
 * the least recently used.
 */
import { signal } from '@preact/signals';
import type { RunEventRecord } from '@tidemark/core/portable';
import type { RunSource } from './source.ts';

const PAGE = 200;
const MAX_PAGES = 60;
const MAX_CHARACTERS = 24_000_000;
/** How long to wait before a failed page is fetched again. */
const RETRY_MS = 2_000;
/** The maximum number of concurrent page fetches. */
const MAX_AT_ONCE = 3;

interface EventPage {
  /** Events by sequence. An event with a missing sequence was never written. */
  events: Map<number, RunEventRecord>;
  size: number;
}

/** Why there is no event for a sequence: its page is not loaded, or the sequence was never written. */
export type Absent = 'loading' | 'hole';

export class EventPages {
  readonly #source: RunSource;
  /** Pages in the order of their last use. */
  readonly #pages = new Map<number, EventPage>();
  readonly #fetching = new Map<number, AbortController>();
  #wanted: number[] = [];
  #retry: ReturnType<typeof setTimeout> | undefined;
  /** Incremented on every change, so that views render again. */
  readonly changes = signal(0);
  readonly error = signal<unknown>(undefined);

  constructor(source: RunSource) {
    this.#source = source;
  }

  /** Returns the event, or why it is absent. */
  at(seq: number): RunEventRecord | Absent {
    this.changes.value;
    const page = this.#pages.get(pageOf(seq));
    if (!page) return 'loading';
    return page.events.get(seq) ?? 'hole';
  }

  /** Loads and returns the last events up to a sequence, at least one full page if the run is long enough. */
  async readEnd(head: number): Promise<RunEventRecord[]> {
    const last = pageOf(head);
    const numbers = last > 0 ? [last - 1, last] : [last];
    await Promise.all(numbers.map((number) => this.#fetch(number)));
    if (this.error.value !== undefined) throw this.error.value;
    return numbers.flatMap((number) => [...(this.#pages.get(number)?.events.values() ?? [])]);
  }

  /** Fetches missing pages for these sequences, and aborts fetches that are no longer needed. */
  want(seqs: Iterable<number>): void {
    const pages = new Set([...seqs].map(pageOf));
    for (const [page, fetching] of this.#fetching) if (!pages.has(page)) fetching.abort();
    for (const page of pages) this.#use(page);
    this.#wanted = [...pages].filter((page) => !this.#pages.has(page));
    this.#fetchWanted();
  }

  /** Returns the event, fetching it if necessary; `null` if it does not exist. */
  async get(seq: number): Promise<RunEventRecord | null> {
    const known = this.#pages.get(pageOf(seq))?.events.get(seq);
    return known ?? (await this.#source.read(seq - 1, 1)).events.find((event) => event.runSeq === seq) ?? null;
  }

  /** Adds a received event to its page, if that page is loaded. */
  add(event: RunEventRecord): void {
    const page = this.#pages.get(pageOf(event.runSeq));
    if (!page) return;
    page.events.set(event.runSeq, event);
    this.changes.value++;
  }

  close(): void {
    clearTimeout(this.#retry);
    this.#wanted = [];
    for (const fetching of this.#fetching.values()) fetching.abort();
  }

  #use(number: number): void {
    const page = this.#pages.get(number);
    if (!page) return;
    this.#pages.delete(number);
    this.#pages.set(number, page);
  }

  #fetchWanted(): void {
    while (this.#fetching.size < MAX_AT_ONCE) {
      const number = this.#wanted.find((it) => !this.#fetching.has(it));
      if (number === undefined) return;
      this.#wanted = this.#wanted.filter((it) => it !== number);
      void this.#fetch(number);
    }
  }

  async #fetch(number: number): Promise<void> {
    const fetching = new AbortController();
    this.#fetching.set(number, fetching);
    try {
      const { events, size } = await this.#source.read(number * PAGE, PAGE, fetching.signal);
      const inside = events.filter((event) => pageOf(event.runSeq) === number);
      this.#pages.set(number, { events: new Map(inside.map((event) => [event.runSeq, event])), size });
      this.error.value = undefined;
      this.#evict();
      this.changes.value++;
      this.#fetching.delete(number);
      this.#fetchWanted();
    } catch (error) {
      this.#fetching.delete(number);
      if (fetching.signal.aborted) return this.#fetchWanted();
      this.error.value = error;
      this.#wanted.push(number);
      this.#retry ??= setTimeout(() => {
        this.#retry = undefined;
        this.#fetchWanted();
      }, RETRY_MS);
    }
  }

  #evict(): void {
    let characters = 0;
    for (const page of this.#pages.values()) characters += page.size;
    for (const [number, page] of this.#pages) {
      if (this.#pages.size <= MAX_PAGES && characters <= MAX_CHARACTERS) return;
      if (this.#pages.size === 1) return;
      this.#pages.delete(number);
      characters -= page.size;
    }
  }
}

function pageOf(seq: number): number {
  return Math.floor((seq - 1) / PAGE);
}
