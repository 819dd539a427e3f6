/** The views of tenants. Each is created once and kept, because a view has its own readers and caches. */
import type { Store } from '@tidemark/core';
import { LruMap } from '@tidemark/core/engine';
import { withHiddenRevisions } from './hiding/revisions.ts';
import type { Secret } from './hiding/secret.ts';

const MAX_VIEWS = 1_000;

export class Views {
  readonly #store: Store;
  readonly #secret: Secret | null;
  readonly #views = new LruMap<string, Store>(MAX_VIEWS);

  /**
   * `secret` is `null` if the server has no auth, because then there are no tenants to hide the activity of others
   * from.
   */
  constructor(store: Store, secret: Secret | null) {
    this.#store = store;
    this.#secret = secret;
  }

  /** Returns the view of a tenant, or the operator's view for `null`. */
  of(tenantId: string | null): Store {
    if (tenantId === null) return this.#store;
    const known = this.#views.get(tenantId);
    if (known) return known;
    const plain = this.#store.forTenant(tenantId);
    const view = this.#secret ? withHiddenRevisions(plain, this.#secret) : plain;
    this.#views.set(tenantId, view);
    return view;
  }
}
