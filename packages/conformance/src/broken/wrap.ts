/**
 * Broken stores prove that the kit can fail: each is the memory store with one fault in one method. A case that passes
 * on its broken store proves nothing.
 */
import {
  type AdminStore,
  type AgentStore,
  type ArtifactStore,
  type JobStore,
  type KvStore,
  memoryStore,
  type PayloadCodec,
  type RunStore,
  type Store,
  type StoreOptions,
} from '@tidemark/core';
import {
  corruptValue,
  type RecordName,
  type ScannedRecord,
  startsAnew,
  withCodec,
  withRecords,
  withRetention,
  withRuns,
} from '@tidemark/core/engine';
import type { RunEngineChange, StoreUnderTest } from '../kit.ts';

/** A store with a known fault, and the case that must detect it. */
export interface BrokenStore {
  name: string;
  /** The fault, as a phrase that completes "a store that …". */
  fault: string;
  /** The id of the case that must fail on it. */
  caughtBy: string;
  create(): StoreUnderTest | Promise<StoreUnderTest>;
}

/**
 * Methods that replace the store's own. Each function receives the view's own domain, the whole store and its clock or
 * view.
 */
export interface Overrides {
  runs?: (runs: RunStore, whole: Store, now: () => number) => Partial<RunStore>;
  kv?: (kv: KvStore, whole: Store, now: () => number) => Partial<KvStore>;
  jobs?: (jobs: JobStore, whole: Store, view: Store) => Partial<JobStore>;
  agents?: (agents: AgentStore, whole: Store, now: () => number) => Partial<AgentStore>;
  artifacts?: (artifacts: ArtifactStore, whole: Store, now: () => number) => Partial<ArtifactStore>;
  admin?: (admin: AdminStore, whole: Store, view: Store) => Partial<AdminStore>;
  store?: (view: Store) => Partial<Store>;
}

/** Replaces some methods of the store and of its tenant views. */
function override(store: Store, overrides: Overrides, now: () => number, whole: Store = store): Store {
  return replace(store, {
    runs: replace(store.runs, overrides.runs?.(store.runs, whole, now)),
    kv: replace(store.kv, overrides.kv?.(store.kv, whole, now)),
    jobs: replace(store.jobs, overrides.jobs?.(store.jobs, whole, store)),
    agents: replace(store.agents, overrides.agents?.(store.agents, whole, now)),
    artifacts: replace(store.artifacts, overrides.artifacts?.(store.artifacts, whole, now)),
    admin: replace(store.admin, overrides.admin?.(store.admin, whole, store)),
    forTenant: (tenantId) => override(store.forTenant(tenantId), overrides, now, whole),
    ...overrides.store?.(store),
  });
}

/** A memory store with a clock that the kit moves, so that expiry is tested to the millisecond. */
export function healthy(options: StoreOptions = {}): StoreUnderTest & { now: () => number } {
  const time = { wall: Date.now(), elapsed: 0 };
  const advance = (ms: number) => {
    time.wall += ms;
    time.elapsed += ms;
  };
  const setBack = (ms: number) => {
    time.wall -= ms;
  };
  const clocks = { clock: () => time.wall, monotonic: () => time.elapsed };
  const { store, damage } = damageable(memoryStore({ ...clocks, ...options }));
  return { store, damage, advance, setBack, now: clocks.clock };
}

/** A store whose records can be damaged: the engine behaves as if their checksum were wrong. */
function damageable(store: Store): Required<Pick<StoreUnderTest, 'store' | 'damage'>> {
  const damaged = new Set<string>();
  const idOf = (tenantId: string, key: string) => `${tenantId}\0${key}`;
  const refuse = ({ space, tenantId, key }: RecordName) => {
    if (space === 'kv' && damaged.has(idOf(tenantId, key))) throw corruptValue('record', key);
  };
  const changed = withRecords(store, (records) => ({
    async get(names, call) {
      names.forEach(refuse);
      return records.get(names, call);
    },
    async getField(name, field, call) {
      refuse(name);
      return records.getField(name, field, call);
    },
    async write(write, call) {
      if (!startsAnew(write)) refuse(write.name);
      const outcome = await records.write(write, call);
      if (outcome.applied) damaged.delete(idOf(write.name.tenantId, write.name.key));
      return outcome;
    },
    async scan(space, tenantId, range, call) {
      const found = await records.scan(space, tenantId, range, call);
      return found.map((record): ScannedRecord => {
        const isDamaged = space === 'kv' && damaged.has(idOf(tenantId, record.key));
        return isDamaged ? { ...record, fields: new Map(), damaged: true } : record;
      });
    },
  }))!;
  return { store: changed, damage: (tenantId, key) => void damaged.add(idOf(tenantId, key)) };
}

/** A broken memory store. A fault with state is passed as a function, which is called once per store. */
export function broken(
  name: string,
  fault: string,
  caughtBy: string,
  overrides: Overrides | (() => Overrides),
  options: StoreOptions = {},
): BrokenStore {
  return {
    name,
    fault,
    caughtBy,
    create: () => {
      const { now, ...under } = healthy(options);
      const faults = typeof overrides === 'function' ? overrides() : overrides;
      return {
        ...under,
        store: override(under.store, faults, now),
        withCodec: (codec) => override(withCodec(under.store, codec)!, faults, now),
        withRetention: (change) => override(withRetention(under.store, change)!, faults, now),
        withRuns: (change) => override(withRuns(under.store, change)!, faults, now),
      };
    },
  };
}

/** A memory store with a faulty run engine, as a backend author might write it. */
export function brokenRuns(name: string, fault: string, caughtBy: string, change: RunEngineChange): BrokenStore {
  return {
    name,
    fault,
    caughtBy,
    create: () => {
      const { now: _, ...under } = healthy();
      return { ...under, store: withRuns(under.store, change)! };
    },
  };
}

/** A memory store that changes the codec it is given. */
export function brokenCodec(
  name: string,
  fault: string,
  caughtBy: string,
  change: (codec: PayloadCodec) => Partial<PayloadCodec>,
): BrokenStore {
  return {
    name,
    fault,
    caughtBy,
    create: () => {
      const { now: _, ...under } = healthy();
      return { ...under, withCodec: (codec) => withCodec(under.store, { ...codec, ...change(codec) })! };
    },
  };
}

/** Replaces members of an object. Other methods keep their own `this`, and so their private fields. */
function replace<T extends object>(target: T, members: Partial<T> = {}): T {
  return new Proxy(target, {
    get(_, key) {
      if (Object.hasOwn(members, key)) return members[key as keyof T];
      const member: unknown = Reflect.get(target, key, target);
      return typeof member === 'function' ? member.bind(target) : member;
    },
  });
}
