/**
 * What a conformance case is and what it gets. The kit knows no test runner and no engine: a case takes a store
 * and throws when a promise is broken.
 */
import type { Capability, PayloadCodec, Store } from '@tidemark/core';
import type { RunEngine } from '@tidemark/core/engine';

export type Domain = 'general' | 'runs' | 'kv' | 'jobs' | 'agents' | 'artifacts';

/** All domains, in the order reports show them. */
export const DOMAINS: readonly Domain[] = ['general', 'runs', 'kv', 'jobs', 'agents', 'artifacts'];

/** Returns the calls that replace an engine's own. */
export type RunEngineChange = (runs: RunEngine) => Partial<RunEngine>;

/** One promise of the contract, as something that can be run. */
export interface ConformanceCase {
  /** Stable and unique: `runs/duplicate-key-returns-stored-metadata`. */
  id: string;
  /** The promise in a user's words. */
  title: string;
  domain: Domain;
  /** Clauses of the documents and rulings it proves: `004 §3.2`, `RUN-4`. */
  proves: readonly string[];
  /** Capabilities the store must have, else the case is skipped and says so. */
  needs?: readonly Capability[];
  /** Closes or reopens the store: such cases run alone, after all others, and the kit opens a new store after each. */
  closesStore?: boolean;
  run(bench: Bench): Promise<void>;
}

/** The store under test, as its author hands it to the kit. */
export interface StoreUnderTest {
  store: Store;
  /** Another handle on the same data, as a second process would have; where the engine has such a thing. */
  peer?: () => Promise<Store>;
  /** Closes the store and opens the same data again; where data outlives the store. */
  reopen?: () => Promise<Store>;
  /** The same data through a payload codec; the kit knows how for stores that `assembleStore` made. */
  withCodec?: (codec: PayloadCodec) => Store;
  /** The same data through a run engine whose calls the kit changes; the kit knows how for stores that `assembleStore` made. */
  withRuns?: (change: RunEngineChange) => Store;
  /** Moves the store's clock forward, for stores with an injected clock; otherwise cases really wait. */
  advance?: (ms: number) => void | Promise<void>;
  /** Sets the store's wall clock back, while time goes on as before; for stores whose clock can be. */
  setBack?: (ms: number) => void | Promise<void>;
  /** Changes the stored value of a field past the store, as a failing disk would; where the engine checks what it reads. */
  damage?: (tenantId: string, key: string, field: string) => void | Promise<void>;
  /** Cleans up after the last case; closing the store is the kit's business. */
  dispose?: () => void | Promise<void>;
}

/** Makes the store under test, once a run of the kit, and once more after a case that closes it. */
export type StoreFactory = () => StoreUnderTest | Store | Promise<StoreUnderTest | Store>;

/** How much the model-based cases try. */
export interface ModelSettings {
  /** How many sequences of commands. */
  runs: number;
  /** Replays the sequences of an earlier run. */
  seed?: number;
}

/** What a case works with. Every case has a tenant and ids of its own, so that cases can share one store. */
export interface Bench {
  /** The operator's view of the store. */
  readonly store: Store;
  /** The same store confined to this case's own tenant: use this unless the case is about tenants. */
  readonly tenant: Store;
  readonly tenantId: string;
  readonly model: ModelSettings;
  /** Where the feed ended before the kit wrote to it; absent for an empty one, and in cases that do not need the feed. */
  readonly feedStart?: string;
  /** A new id, unique over all cases and runs of the kit. */
  id(hint?: string): string;
  /** A handle of another client on the same data: the peer's where there is one, else the same store. */
  peer(): Promise<Store>;
  /** The tenant's view of the same data through a payload codec; only in cases that need `payloadCodec`. */
  encoded(codec: PayloadCodec): Store;
  /**
   * The tenant's view of the same data through a run engine whose calls the case holds up or changes; `null` where the kit
   * cannot reach the engine: then the case tries the same promise from outside only.
   */
  withRuns(change: RunEngineChange): Store | null;
  /** Lets time pass on the store's clock. */
  pass(ms: number): Promise<void>;
  /** Sets the store's wall clock back where it can be; elsewhere the case must hold all the same. */
  setBack(ms: number): Promise<void>;
  /** Damages a stored field of the tenant; false where the kit cannot reach under the store. */
  damage(key: string, field: string): Promise<boolean>;
  /** Closes the store and opens the same data again; only in cases that need `reopen` and close the store. */
  reopen(): Promise<Store>;
}
