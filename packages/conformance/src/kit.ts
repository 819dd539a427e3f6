/**
 * Conformance cases and their inputs. The kit depends on no test runner and no engine: a case gets a store and throws
 * if a guarantee is broken.
 */
import type { ArtifactRetention, Capability, PayloadCodec, Store } from '@tidemark/core';
import type { RunEngine } from '@tidemark/core/engine';

export type Domain = 'general' | 'runs' | 'kv' | 'jobs' | 'agents' | 'artifacts';

/** All domains, in the order reports show them. */
export const DOMAINS: readonly Domain[] = ['general', 'runs', 'kv', 'jobs', 'agents', 'artifacts'];

/** Returns the methods that replace the engine's own. */
export type RunEngineChange = (runs: RunEngine) => Partial<RunEngine>;

/** One guarantee of the contract as an executable case. */
export interface ConformanceCase {
  /** Stable and unique, for example `runs/duplicate-key-returns-stored-metadata`. */
  id: string;
  /** States the guarantee in words that a user would understand. */
  title: string;
  domain: Domain;
  /** The clauses and rulings that the case proves, for example `004 §3.2`, `RUN-4`. */
  proves: readonly string[];
  /** Capabilities that the store must declare. Without them the case is skipped and reports why. */
  needs?: readonly Capability[];
  /**
   * Set if the case closes or reopens the store. Such cases run alone, after all others, and the kit then opens a new
   * store.
   */
  closesStore?: boolean;
  run(bench: Bench): Promise<void>;
}

/** The store under test, and the operations that the kit may perform on it. */
export interface StoreUnderTest {
  store: Store;
  /** Opens another handle on the same data, like a second process. Omit it if the engine does not support that. */
  peer?: () => Promise<Store>;
  /** Closes the store and opens the same data again. Omit it if data does not outlive the store. */
  reopen?: () => Promise<Store>;
  /** Returns the same data through a payload codec. The kit supplies it for stores made by `assembleStore`. */
  withCodec?: (codec: PayloadCodec) => Store;
  /**
   * Returns the same data through a run engine with methods replaced. The kit supplies it for stores made by
   * `assembleStore`.
   */
  withRuns?: (change: RunEngineChange) => Store;
  /** Returns the same data with other artifact limits. The kit supplies it for stores made by `assembleStore`. */
  withRetention?: (change: Partial<ArtifactRetention>) => Store;
  /** Moves the store's clock forward. Without it, cases wait in real time. */
  advance?: (ms: number) => void | Promise<void>;
  /** Sets the store's wall clock back without affecting elapsed time. Omit it if the clock cannot be set. */
  setBack?: (ms: number) => void | Promise<void>;
  /**
   * Changes the stored value of a field without going through the store, like a failing disk. Omit it if the engine
   * does not verify its reads.
   */
  damage?: (tenantId: string, key: string, field: string) => void | Promise<void>;
  /** Cleans up after the last case. The kit itself closes the store. */
  dispose?: () => void | Promise<void>;
}

/** Creates the store under test: once per run of the kit, and again after each case that closes it. */
export type StoreFactory = () => StoreUnderTest | Store | Promise<StoreUnderTest | Store>;

/** Settings of the model-based cases. */
export interface ModelSettings {
  /** The number of command sequences. */
  runs: number;
  /** Replays the sequences of an earlier run. */
  seed?: number;
}

/** The inputs of a case. Every case has its own tenant and ids, so that cases can share one store. */
export interface Bench {
  /** The operator's view of the store. */
  readonly store: Store;
  /** The store confined to this case's own tenant. Use it unless the case is about tenants. */
  readonly tenant: Store;
  readonly tenantId: string;
  readonly model: ModelSettings;
  /**
   * The end of the feed before the kit wrote to it. Absent for an empty feed and for cases that do not need the feed.
   */
  readonly feedStart?: string;
  /** Returns a new id, unique across all cases and runs of the kit. */
  id(hint?: string): string;
  /** Returns another client's handle on the same data, or the same store if there is no peer. */
  peer(): Promise<Store>;
  /** Returns the tenant's view with a payload codec. Only for cases that need `payloadCodec`. */
  encoded(codec: PayloadCodec): Store;
  /**
   * Returns the tenant's view through a run engine whose methods the case delays or changes, or `null` if the kit
   * cannot reach the engine. In that case, the same guarantee is tested only from outside.
   */
  withRuns(change: RunEngineChange): Store | null;
  /**
   * Returns the tenant's view with other artifact limits, or `null` if the kit cannot reach the engine. The case then
   * tests only the default limits.
   */
  withRetention(change: Partial<ArtifactRetention>): Store | null;
  /** Advances the store's clock, or waits. */
  pass(ms: number): Promise<void>;
  /** Sets the store's wall clock back if that is possible. The case must pass either way. */
  setBack(ms: number): Promise<void>;
  /** Damages a stored field of the tenant. Returns false if the kit cannot reach below the store. */
  damage(key: string, field: string): Promise<boolean>;
  /** Closes the store and opens the same data again. Only for cases that need `reopen` and close the store. */
  reopen(): Promise<Store>;
}
