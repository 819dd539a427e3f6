/** Iterates over the items of paged lists and over tenants. */
import type { Store } from '@tidemark/core';

/** Yields the items of all pages of a list. */
export async function* itemsOf<T>(
  page: (cursor: { cursor?: string }) => Promise<{ items: T[]; next?: string }>,
): AsyncGenerator<T> {
  for (let cursor: { cursor?: string } = {}; ; ) {
    const { items, next } = await page(cursor);
    yield* items;
    if (next === undefined) return;
    cursor = { cursor: next };
  }
}

/** Yields all tenants of a store, or the single tenant of a view. */
export async function* tenantsOf(store: Store): AsyncGenerator<string> {
  const { tenantId } = store.info;
  if (tenantId !== undefined) yield tenantId;
  else yield* itemsOf((cursor) => store.admin.listTenants({ ...cursor, limit: 1_000 }));
}
