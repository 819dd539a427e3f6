/**
 * Events of a run by their sequence, fetched in pages around what is looked at. However long the run is, only so many
 * pages are kept; those longest out of sight go first.
 */
import { signal } from '@preact/signals';
import type { RunEventRecord } from '@tidemark/core/portable';
import type { RunSource } from './source.ts';

const PAGE = 200;
const MOST_PAGES = 60;
const MOST_CHARACTERS = 24_000_000;
/** A page that could not be had is asked for again after this. */
const RETRY_MS = 2_000;
/** Pages that are fetched at the same time while somebody scrolls. */
const MOST_AT_ONCE = 3;

interface EventPage {
  /** By sequence; one that is missing was never written. */
  events: Map<number, RunEventRecord>;
  size: number;
}

/** A sequence of which no event is known: the page may not be here yet, or there may be none. */
export type Absent = 'loading' | 'hole';

export class EventPages {
  readonly #source: RunSource;
  /** In the order they were last used. */
  readonly #pages = new Map<number, EventPage>();
  readonly #fetching = new Map<number, AbortController>();
  #wanted: number[] = [];
  #retry: ReturnType<typeof setTimeout> | undefined;
  /** Counts what came, so that views notice. */
  readonly changes = signal(0);
  readonly error = signal<unknown>(undefined);

  constructor(source: RunSource) {
    this.#source = source;
  }

  /** The event, or why there is none to show. */
  at(seq: number): RunEventRecord | Absent {
    this.changes.value;
    const page = this.#pages.get(pageOf(seq));
    if (!page) return 'loading';
    return page.events.get(seq) ?? 'hole';
  }

  /** The last events up to a sequence, at least a page of them if there are so many; they stay here for the view. */
  async readEnd(head: number): Promise<RunEventRecord[]> {
    const last = pageOf(head);
    const numbers = last > 0 ? [last - 1, last] : [last];
    await Promise.all(numbers.map((number) => this.#fetch(number)));
    if (this.error.value !== undefined) throw this.error.value;
    return numbers.flatMap((number) => [...(this.#pages.get(number)?.events.values() ?? [])]);
  }

  /** Fetches what is missing of these sequences; what was wanted before and is not wanted any more is given up. */
  want(seqs: Iterable<number>): void {
    const pages = new Set([...seqs].map(pageOf));
    for (const [page, fetching] of this.#fetching) if (!pages.has(page)) fetching.abort();
    for (const page of pages) this.#use(page);
    this.#wanted = [...pages].filter((page) => !this.#pages.has(page));
    this.#fetchWanted();
  }

  /** The event, fetched if need be; `null` where there is none. */
  async get(seq: number): Promise<RunEventRecord | null> {
    const known = this.#pages.get(pageOf(seq))?.events.get(seq);
    return known ?? (await this.#source.read(seq - 1, 1)).events.find((event) => event.runSeq === seq) ?? null;
  }

  /** Puts events that were heard of into the pages that are here. */
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
    while (this.#fetching.size < MOST_AT_ONCE) {
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
      this.#forget();
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

  #forget(): void {
    let characters = 0;
    for (const page of this.#pages.values()) characters += page.size;
    for (const [number, page] of this.#pages) {
      if (this.#pages.size <= MOST_PAGES && characters <= MOST_CHARACTERS) return;
      if (this.#pages.size === 1) return;
      this.#pages.delete(number);
      characters -= page.size;
    }
  }
}

function pageOf(seq: number): number {
  return Math.floor((seq - 1) / PAGE);
}
