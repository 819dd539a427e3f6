/** A store with some calls replaced, including in its views, so that a test can act at the moment of a call. */
import type { Store } from '@tidemark/core';

type Domain = 'runs' | 'kv' | 'agents' | 'artifacts' | 'admin';
type Changes = { [D in Domain]?: (real: Store[D]) => Partial<Store[D]> };

export function altered(store: Store, changes: Changes): Store {
  return new Proxy(store, {
    get(target, name) {
      if (name === 'forTenant') return (tenantId: string) => altered(target.forTenant(tenantId), changes);
      const change = changes[name as Domain] as ((real: object) => object) | undefined;
      if (!change) return bound(target, name);
      const real = Reflect.get(target, name, target) as object;
      const calls = change(real);
      return new Proxy(real, { get: (domain, call) => Reflect.get(calls, call) ?? bound(domain, call) });
    },
  });
}

function bound(target: object, name: string | symbol): unknown {
  const value: unknown = Reflect.get(target, name, target);
  return typeof value === 'function' ? value.bind(target) : value;
}
