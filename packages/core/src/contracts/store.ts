/** The store: its domains, capabilities, health and options. */
import type { AdminStore } from './admin.ts';
import { AGENT_PARTS, type AgentStore } from './agents.ts';
import type { StoreAlert } from './alerts.ts';
import type { ArtifactRetention, ArtifactStore } from './artifacts.ts';
import type { PayloadCodec } from './codec.ts';
import type { CallOptions } from './common.ts';
import type { JobStore } from './jobs.ts';
import type { KvStore } from './kv.ts';
import type { RunStore } from './runs.ts';

/** The version of the run contract that every store implements. */
export const CONTRACT_VERSION = '2.0.0';

/** All capabilities that a store can have. `info.capabilities` lists the capabilities of one store. */
// A pure call: bundlers do not remove an unused list that spreads another.
export const CAPABILITIES = /* @__PURE__ */ (() =>
  [
    'runs',
    'runs.denseSequences',
    'runs.feed',
    'runs.transactions',
    'runs.redaction',
    'runs.notices',
    'runs.listByUpdate',
    'runs.inlineProjections',
    'kv',
    'kv.watch',
    'kv.atomicBatch',
    'kv.orderedRevisions',
    'jobs',
    ...AGENT_PARTS,
    'sessions',
    'artifacts',
    'admin',
    'payloadCodec',
    'reopen',
  ] as const)();

/**
 * A capability of a store. `kv.orderedRevisions`: every change gives a record a higher revision than it ever had.
 * Without this capability, a change only gives it a different revision. `payloadCodec`: payloads can be encoded by a
 * codec, such as encryption. `reopen`: stored data is still there when the store is opened again.
 */
export type Capability = (typeof CAPABILITIES)[number];
/** Whether a store has each capability. */
export type Capabilities = Readonly<Record<Capability, boolean>>;

/** The worst failure that an acknowledged write survives with the backend's current configuration. */
export type Durability = 'none' | 'process-crash' | 'host-crash' | 'node-loss' | 'unknown';

/**
 * The clock that stamps `persistedAt` and ends leases and times to live. `server`: the clock of the database, the same for
 * all processes. `process`: the clock of the process that makes the call; keep the clocks of machines synchronised. In
 * both cases `persistedAt` never decreases within a run. `unknown`: a server of version 0.1 does not report it.
 */
export type StoreClock = 'server' | 'process' | 'unknown';

/** The maximum sizes of values. Larger ones are refused with `PAYLOAD_TOO_LARGE`. */
export interface StoreLimits {
  /** Bytes of an event's payload as JSON text. Default 512 KiB. */
  eventPayloadBytes: number;
  /** Bytes of a pause, memory state, task, update or trajectory. Default 4 MiB. */
  documentBytes: number;
  /** Bytes of one KV field. Default 512 KiB. */
  fieldBytes: number;
}

/** The properties of a store. */
export interface StoreInfo {
  /** `memory`, `sqlite`, `postgres`, … */
  backend: string;
  /** The version of the engine. */
  version: string;
  contractVersion: string;
  capabilities: Capabilities;
  durability: Durability;
  clock: StoreClock;
  limits: StoreLimits;
  /** Whether the store was opened with a codec that encrypts. Fields of records can be sealed only if it was. */
  encrypts: boolean;
  /** The tenant of a view that `forTenant` returned. */
  tenantId?: string;
}

/** The result of one check of the doctor. */
export interface DoctorFinding {
  check: string;
  /** `unknown` means that the check could not be made. */
  status: 'ok' | 'warn' | 'fail' | 'unknown';
  /** The setting or state that was found. */
  message: string;
  /** How to fix it. */
  fix?: string;
}

/** The result of `doctor`. */
export interface DoctorReport {
  backend: string;
  durability: Durability;
  /** True if no finding has the status `fail`. */
  ok: boolean;
  findings: DoctorFinding[];
}

/** Options of `doctor`. */
export interface DoctorOptions extends CallOptions {
  /**
   * Also reads everything that is stored and compares it with chains and checksums. This can take long; `admin.check`
   * does it in steps.
   */
  deep?: boolean;
  /** Also examines files and indexes as a whole, if the engine supports it. Included in `deep`. */
  storage?: boolean;
}

/**
 * Stores the state of workflow and agent runtimes.
 *
 * Every call can fail with these codes of `TidemarkError`, besides those it lists itself:
 *
 * - `INVALID_ARGUMENT`: an argument breaks a rule; `field` and `rule` name it. Nothing was written.
 * - `UNSUPPORTED`: the store lacks the capability; see `info.capabilities`.
 * - `ABORTED`, `TIMEOUT`: the call was cancelled or took too long. Nothing was written.
 * - `OUTCOME_UNKNOWN`: a write may or may not be stored. Call `replay(store, error.write)`.
 * - `UNAVAILABLE`, `OVERLOADED`: the engine cannot be reached or is busy. Nothing was written; retry later.
 * - `STORAGE_FULL`, `STORAGE_ERROR`: the storage of the engine failed.
 * - `STORE_CLOSED`: the store was closed.
 */
export interface Store extends AsyncDisposable {
  /** Event logs of runs, and their snapshots. */
  readonly runs: RunStore;
  /** Records of named fields. */
  readonly kv: KvStore;
  /** Jobs that workers claim, stored as records of `kv`. */
  readonly jobs: JobStore;
  /** Data of agent frameworks: pauses, memory, sessions. */
  readonly agents: AgentStore;
  /** Bytes and long texts. */
  readonly artifacts: ArtifactStore;
  /** Operations for operators. */
  readonly admin: AdminStore;
  /** The backend, its capabilities, durability and limits. */
  readonly info: StoreInfo;
  /**
   * Returns a view of the store that is confined to one tenant. Calls that name another tenant fail with
   * `TENANT_MISMATCH`. Closing the view does nothing.
   *
   * @throws `TENANT_MISMATCH` if this store is the view of another tenant.
   *
   * @example
   * const acme = store.forTenant('acme');
   * await acme.kv.put('greeting', { text: 'hello' });
   * console.log(await store.forTenant('other').kv.get('greeting')); // null
   */
  forTenant(tenantId: string): Store;
  /**
   * Returns whether the engine responds.
   *
   * @throws `STORE_CLOSED`, `ABORTED`. Other failures return false.
   */
  ping(options?: CallOptions): Promise<boolean>;
  /**
   * Checks the settings and the state of the store. Reports everything that weakens its guarantees, and how to fix it.
   *
   * @example
   * const { ok, durability, findings } = await store.doctor();
   * for (const { check, status, message, fix } of findings) console.log(status, check, message, fix ?? '');
   * console.log(ok, durability);
   */
  doctor(options?: DoctorOptions): Promise<DoctorReport>;
  /**
   * Finishes the calls under way, then closes the engine. Ends live iterators. Later calls fail with `STORE_CLOSED`.
   * `await using` does the same at the end of its block.
   */
  close(): Promise<void>;
}

/** Options that every engine accepts. */
export interface StoreOptions {
  /** Returns milliseconds since the epoch. The store follows it even if it goes back. For tests. */
  clock?: () => number;
  /**
   * Returns elapsed milliseconds from an arbitrary start, never decreasing. Stores whose clock must not go back use it.
   * For tests.
   */
  monotonic?: () => number;
  /** Returns random bytes. For tests. */
  random?: (length: number) => Uint8Array;
  /** How long a call may take, in milliseconds, unless its own `timeoutMs` is set. Default 5 000. */
  timeoutMs?: number;
  /** The maximum sizes of values. */
  limits?: Partial<StoreLimits>;
  /** Artifact limits and retention. */
  artifacts?: Partial<ArtifactRetention>;
  /**
   * Raises a store that an older version created to the newest format when it is opened. Versions that do not know the
   * format then refuse the store, or report its new events as damaged: stop their processes first. Default false. A new
   * store always has the newest format.
   */
  upgrade?: boolean;
  /** Encodes payloads before they are hashed and stored, such as `encryption(…)`. Default: no codec. */
  codec?: PayloadCodec;
  /**
   * Called once for each alert of this store, in the process that found the cause, and never inside a transaction. It
   * must return quickly. Errors that it throws are ignored.
   */
  onAlert?: (alert: StoreAlert) => void;
}
