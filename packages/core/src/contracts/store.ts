/** The store: five domains, what it is, and how it is doing. */
import type { AdminStore } from './admin.ts';
import { AGENT_PARTS, type AgentStore } from './agents.ts';
import type { StoreAlert } from './alerts.ts';
import type { ArtifactRetention, ArtifactStore } from './artifacts.ts';
import type { PayloadCodec } from './codec.ts';
import type { CallOptions } from './common.ts';
import type { JobStore } from './jobs.ts';
import type { KvStore } from './kv.ts';
import type { RunStore } from './runs.ts';

/** The version of the run contract all stores speak (document 004). */
export const CONTRACT_VERSION = '2.0.0';

/** What a store may or may not be able to do (GEN-7). */
export const CAPABILITIES = [
  'runs',
  'runs.denseSequences',
  'runs.feed',
  'runs.transactions',
  'runs.redaction',
  'runs.inlineProjections',
  'kv',
  'kv.watch',
  'jobs',
  ...AGENT_PARTS,
  'sessions',
  'artifacts',
  'admin',
  'payloadCodec',
  'reopen',
] as const;

/**
 * `payloadCodec`: payloads can pass a codec on their way to the engine. `reopen`: what was stored is there when the store
 * is opened again.
 */
export type Capability = (typeof CAPABILITIES)[number];
export type Capabilities = Readonly<Record<Capability, boolean>>;

/** What an acknowledged write survives on this backend as configured now (GEN-6). */
export type Durability = 'none' | 'process-crash' | 'host-crash' | 'node-loss' | 'unknown';

/** Sizes above which a value is refused with `PAYLOAD_TOO_LARGE` (GEN-4). */
export interface StoreLimits {
  /** Bytes of an event's payload as JSON text. */
  eventPayloadBytes: number;
  /** Bytes of a pause, memory state, task, update or trajectory. */
  documentBytes: number;
  /** Bytes of one KV field. */
  fieldBytes: number;
}

/** What a store is. */
export interface StoreInfo {
  /** `memory`, `sqlite`, `postgres`, … */
  backend: string;
  /** Of the engine underneath. */
  version: string;
  contractVersion: string;
  capabilities: Capabilities;
  durability: Durability;
  limits: StoreLimits;
  /** Set in a view that `forTenant` gave. */
  tenantId?: string;
}

/** One thing the doctor looked at. */
export interface DoctorFinding {
  check: string;
  /** `unknown` is never as good as `ok`. */
  status: 'ok' | 'warn' | 'fail' | 'unknown';
  /** What was seen. */
  message: string;
  /** What to do about it. */
  fix?: string;
}

/** What the doctor found. */
export interface DoctorReport {
  backend: string;
  durability: Durability;
  /** True when no finding failed. */
  ok: boolean;
  findings: DoctorFinding[];
}

/** Options of the doctor. */
export interface DoctorOptions extends CallOptions {
  /** Also reads everything that is stored and compares it with chains and checksums. Takes long; `admin.check` does it in steps. */
  deep?: boolean;
  /** Also examines files and indexes as a whole, where the engine can. Part of `deep`. */
  storage?: boolean;
}

/** State of workflow and agent runtimes. */
export interface Store extends AsyncDisposable {
  readonly runs: RunStore;
  readonly kv: KvStore;
  /** Work to be claimed, kept as records of `kv`. */
  readonly jobs: JobStore;
  readonly agents: AgentStore;
  readonly artifacts: ArtifactStore;
  /** The operator's calls. */
  readonly admin: AdminStore;
  readonly info: StoreInfo;
  /** The same store, confined to one tenant (GEN-10). Closing the view closes nothing. */
  forTenant(tenantId: string): Store;
  /** Whether the engine answers. */
  ping(options?: CallOptions): Promise<boolean>;
  /** Every setting that weakens what the store promises, and how to mend it. */
  doctor(options?: DoctorOptions): Promise<DoctorReport>;
  /** Finishes what was accepted, then lets go of the engine. Later calls are `STORE_CLOSED`. */
  close(): Promise<void>;
}

/** What every engine's constructor takes. */
export interface StoreOptions {
  /** Milliseconds since the epoch, followed wherever it goes; for tests. */
  clock?: () => number;
  /** Milliseconds that only grow, from any start. With it, a store whose clock never goes back goes on by them; for tests. */
  monotonic?: () => number;
  /** Random bytes; for tests. */
  random?: (length: number) => Uint8Array;
  /** How long a call may take unless it says otherwise. Default 5 000. */
  timeoutMs?: number;
  limits?: Partial<StoreLimits>;
  artifacts?: Partial<ArtifactRetention>;
  /** What payloads pass before they are hashed and stored, such as `encryption(…)`. Default none. */
  codec?: PayloadCodec;
  /**
   * Receives each alert of this store, once, in the process that found its cause, and never inside a transaction. It must return at
   * once; what it throws is ignored.
   */
  onAlert?: (alert: StoreAlert) => void;
}
