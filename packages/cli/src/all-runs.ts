/** Yields every run of a store, or of a tenant's view, page by page. */
import type { RunStore, RunSummary } from '@tidemark/core';

const PAGE = 1_000;

export async function* allRuns(runs: RunStore): AsyncGenerator<RunSummary, void, undefined> {
  for (let cursor: string | undefined; ; ) {
    const page = await runs.listRuns({ limit: PAGE, ...(cursor === undefined ? {} : { cursor }) });
    yield* page.items;
    if (page.next === undefined) return;
    cursor = page.next;
  }
}
