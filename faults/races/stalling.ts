/** A second connection to a store's data that stalls before it saves a snapshot, until it is told to go on. */
import type { Store } from '@tidemark/core';
import { assembleStore, engineOf, StoreContext } from '@tidemark/core/engine';

export interface StallingStore {
  store: Store;
  /** Resolves when a snapshot is about to be saved. */
  stalled: Promise<void>;
  goOn(): void;
}

/** The store shares the engine of the one it is made from, which closes it. */
export function stallingSnapshots(store: Store): StallingStore {
  const engine = engineOf(store)!;
  const stall = Promise.withResolvers<void>();
  const gate = Promise.withResolvers<void>();
  const runs = new Proxy(engine.runs!, {
    get: (target, name) => {
      const member: unknown = Reflect.get(target, name, target);
      if (typeof member !== 'function') return member;
      if (name !== 'saveSnapshot') return member.bind(target);
      return async (...args: unknown[]) => {
        stall.resolve();
        await gate.promise;
        return member.apply(target, args);
      };
    },
  });
  const stalling = assembleStore(new StoreContext({ timeoutMs: 30_000 }), { ...engine, runs });
  return { store: stalling, stalled: stall.promise, goOn: gate.resolve };
}
