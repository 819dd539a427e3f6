/**
 * The list of runs while it is shown. Rows never move: changed runs are updated in place, and new runs wait until the
 * reader shows them. In an empty list, the first run appears at once.
 */
import { signal } from '@preact/signals';
import type { RunSummary } from '@tidemark/core/portable';
import { listRuns } from './api.ts';
import { type FilterQuery, hasText, isShown, serverFilter } from './runs-filter.ts';

const PAGE = 200;
/** A text search reads larger pages, and at most this many of them before the reader has to continue the search. */
const SEARCH_PAGE = 1_000;
const SEARCH_PAGES = 20;

export class RunsList {
  readonly rows = signal<readonly RunSummary[]>([]);
  /** New runs that are not shown yet, newest first. */
  readonly waiting = signal<readonly RunSummary[]>([]);
  readonly isComplete = signal(false);
  readonly isLoading = signal(false);
  readonly error = signal<unknown>(undefined);
  /** The number of runs searched for the text. */
  readonly searched = signal(0);
  readonly #filter: FilterQuery;
  readonly #asking = new AbortController();
  /** The row index of each run. */
  #indexes = new Map<string, number>();
  #cursor: string | undefined;

  constructor(filter: FilterQuery) {
    this.#filter = filter;
    void this.more();
  }

  /** Loads the next rows. */
  async more(): Promise<void> {
    if (this.isLoading.value || this.isComplete.value) return;
    this.isLoading.value = true;
    try {
      const enough = this.rows.value.length + PAGE;
      for (let page = 0; page < SEARCH_PAGES && this.rows.value.length < enough; page++)
        if (!(await this.#loadPage())) break;
      this.error.value = undefined;
    } catch (error) {
      if (!this.#asking.signal.aborted) this.error.value = error;
    }
    this.isLoading.value = false;
  }

  /** Adds a new run or updates a changed one. */
  receive(run: RunSummary): void {
    const at = this.#indexes.get(nameOf(run));
    if (at !== undefined) this.rows.value = this.rows.value.with(at, run);
    else if (!isShown(run, this.#filter)) return;
    // An empty list has no rows that could move.
    else if (this.rows.value.length === 0 && this.isComplete.value) this.#show([run]);
    else this.waiting.value = [run, ...this.waiting.value.filter((it) => nameOf(it) !== nameOf(run))];
  }

  /** Reads the runs that changed while the stream was interrupted. */
  async catchUp(): Promise<void> {
    const { items } = await listRuns(serverFilter(this.#filter), { limit: PAGE }, this.#asking.signal);
    for (const run of items.toReversed()) this.receive(run);
  }

  /** Shows the waiting runs. */
  showWaiting(): void {
    this.#show([...this.waiting.value, ...this.rows.value]);
    this.waiting.value = [];
  }

  close(): void {
    this.#asking.abort();
  }

  /** Loads a page. Returns whether there is another page. */
  async #loadPage(): Promise<boolean> {
    const limit = this.#filter.q === '' ? PAGE : SEARCH_PAGE;
    const page = { limit, cursor: this.#cursor };
    const { items, next } = await listRuns(serverFilter(this.#filter), page, this.#asking.signal);
    const fresh = items.filter((run) => hasText(run, this.#filter.q) && !this.#indexes.has(nameOf(run)));
    this.#show([...this.rows.value, ...fresh]);
    this.searched.value += items.length;
    this.#cursor = next;
    this.isComplete.value = next === undefined;
    return next !== undefined;
  }

  #show(rows: readonly RunSummary[]): void {
    this.rows.value = rows;
    this.#indexes = new Map(rows.map((run, at) => [nameOf(run), at]));
  }
}

function nameOf({ tenantId, runId }: RunSummary): string {
  return JSON.stringify([tenantId, runId]);
}
