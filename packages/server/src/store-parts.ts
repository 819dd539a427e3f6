/** Stores with some domains replaced, and domains with some calls replaced. */
import type { Capabilities, Store } from '@tidemark/core';

export type Domains = Pick<Store, 'runs' | 'kv' | 'jobs' | 'agents' | 'artifacts' | 'admin'>;

interface Others {
  capabilities?: Partial<Capabilities>;
  forTenant?: Store['forTenant'];
}

/** Returns a store with other domains, and with other capabilities and views of tenants if given. */
export function storeWith(store: Store, domains: Domains, { capabilities, forTenant }: Others = {}): Store {
  return {
    ...domains,
    get info() {
      const { info } = store;
      return capabilities ? { ...info, capabilities: { ...info.capabilities, ...capabilities } } : info;
    },
    forTenant: forTenant ?? ((tenantId) => store.forTenant(tenantId)),
    ping: (options) => store.ping(options),
    doctor: (options) => store.doctor(options),
    close: () => store.close(),
    [Symbol.asyncDispose]: () => store.close(),
  };
}

/** Returns a domain in which the replacement of a call is used, if there is one. */
export function around<T extends object>(
  domain: T,
  replacementOf: (name: string) => ((...args: unknown[]) => unknown) | undefined,
): T {
  const bound = new Map<string, unknown>();
  return new Proxy(domain, {
    get: (_, name) => {
      const member: unknown = Reflect.get(domain, name, domain);
      if (typeof name !== 'string' || typeof member !== 'function') return member;
      if (!bound.has(name)) bound.set(name, replacementOf(name) ?? member.bind(domain));
      return bound.get(name);
    },
  });
}
