/** The views of tenants. Each is created once and kept, because a view has its own readers and caches. */
import type { Store } from '@tidemark/core';
import { LruMap } from '@tidemark/core/engine';

const MOST_VIEWS = 1_000;

export class Views {
  readonly #store: Store;
  readonly #views = new LruMap<string, Store>(MOST_VIEWS);

  constructor(store: Store) {
    this.#store = store;
  }

  /** Returns the view of a tenant, or the operator's view for `null`. */
  of(tenantId: string | null): Store {
    if (tenantId === null) return this.#store;
    const known = this.#views.get(tenantId);
    if (known) return known;
    const view = this.#store.forTenant(tenantId);
    this.#views.set(tenantId, view);
    return view;
  }
}
