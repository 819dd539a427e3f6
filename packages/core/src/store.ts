/** Assembles a store from an engine's parts. All backends share this code, so they behave alike. */

import { deepFindings } from './admin/deep-findings.ts';
import type { AdminEngines } from './admin/engines.ts';
import { createAdmin } from './admin/store.ts';
import { createAgents } from './agents/store.ts';
import { outsideArtifacts } from './artifacts/outside/engine.ts';
import { createArtifacts } from './artifacts/store.ts';
import { checkId } from './checks/text.ts';
import { Payloads } from './codec/payloads.ts';
import { TENANT_PARTS, type TenantPart } from './contracts/admin.ts';
import { AGENT_PARTS } from './contracts/agents.ts';
import type { HeadWentBack } from './contracts/alerts.ts';
import type { ArtifactRef, ArtifactRetention } from './contracts/artifacts.ts';
import type { PayloadCodec } from './contracts/codec.ts';
import type { CallOptions } from './contracts/common.ts';
import { isTidemarkError, TidemarkError } from './contracts/errors.ts';
import type { RunEventRecord } from './contracts/run-events.ts';
import type { RunPart } from './contracts/run-parts.ts';
import {
  CAPABILITIES,
  type Capabilities,
  type Capability,
  CONTRACT_VERSION,
  type DoctorFinding,
  type DoctorOptions,
  type DoctorReport,
  type Durability,
  type Store,
  type StoreClock,
  type StoreInfo,
} from './contracts/store.ts';
import type { AgentEngine } from './engine/agents.ts';
import type { ArtifactEngine } from './engine/artifacts.ts';
import type { ByteStore } from './engine/byte-store.ts';
import type { EngineCall } from './engine/call.ts';
import type { Records } from './engine/records.ts';
import type { RunEngine } from './engine/runs.ts';
import type { TenancyEngine } from './engine/tenancy.ts';
import { Jobs } from './jobs/store.ts';
import { Kv } from './kv/store.ts';
import { inlineAppend } from './projections/inline.ts';
import { dropStates } from './projections/stored.ts';
import { type ChainFormat, NEWEST_CHAIN_FORMAT } from './runs/chain.ts';
import { recordOf } from './runs/prepare.ts';
import { quarantineFindings } from './runs/quarantine-findings.ts';
import { carriedPart } from './runs/restored.ts';
import { Runs } from './runs/store.ts';
import { DEFAULT_TENANT } from './runs/view.ts';
import { artifactSweep, Cleaner } from './tools/cleaner.ts';
import type { StoreContext } from './tools/context.ts';
import { headKey } from './tools/head-memory.ts';
import { withCalls } from './tools/with-calls.ts';

/** The parts of a backend. Omit the parts it lacks: calls to them throw `UNSUPPORTED` (GEN-7). */
export interface Engine {
  backend: string;
  version: string;
  /** Capabilities beyond the parts above. */
  can: Partial<
    Record<
      | 'runs.denseSequences'
      | 'runs.feed'
      | 'runs.transactions'
      | 'runs.redaction'
      | 'runs.notices'
      | 'runs.listByUpdate'
      | 'runs.inlineProjections'
      | 'kv.watch'
      | 'kv.atomicBatch'
      | 'reopen',
      boolean
    >
  >;
  durability(): Durability;
  /** Whose clock stamps commits and ends leases. Default `unknown`. */
  clock?: StoreClock;
  /** Returns the chain format that writers use, if the engine has a marker that an upgrade raises (UPG-1). */
  chainFormat?(): ChainFormat;
  runs?: RunEngine;
  kv?: Records;
  agents?: Partial<AgentEngine>;
  artifacts?: ArtifactEngine;
  tenancy?: TenancyEngine;
  ping(call: EngineCall): Promise<void>;
  doctor(call: EngineCall): Promise<Omit<DoctorReport, 'backend' | 'ok'>>;
  /**
   * Examines files or indexes as a whole, which may take long. With a tenant, findings mention only that tenant's data.
   */
  examineStorage?(tenantId: string | null): Promise<DoctorFinding[]>;
  close(): Promise<void>;
}

const assembled = new WeakMap<Store, { context: StoreContext; engine: Engine }>();

/** Assembles a store over an engine. */
export function assembleStore(context: StoreContext, engine: Engine): Store {
  const store = new EngineStore(context, engine, null);
  assembled.set(store, { context, engine });
  return store;
}

/**
 * Returns a store's engine, to compose another store from its parts, or `null` if `assembleStore` did not create it.
 */
export function engineOf(store: Store): Engine | null {
  return assembled.get(store)?.engine ?? null;
}

/**
 * Decodes the events of an exported part as the store returns them. Uses no codec if `assembleStore` did not make the
 * store.
 */
export function recordsOf(store: Store, part: RunPart): RunEventRecord[] {
  const payloads = assembled.get(store)?.context.payloads ?? new Payloads(null);
  const { head, events } = carriedPart(part);
  return events.map((event) => recordOf(payloads, head, event));
}

/**
 * Returns a store over the same data with another codec, or `null` if `assembleStore` did not make it. It closes with
 * the original.
 */
export function withCodec(store: Store, codec: PayloadCodec): Store | null {
  const parts = assembled.get(store);
  return parts ? assembleStore(parts.context.encodingBy(codec), parts.engine) : null;
}

/**
 * Returns a store over the same data with other limits of artifacts, or `null` if `assembleStore` did not make it. It
 * closes with the original.
 */
export function withRetention(store: Store, change: Partial<ArtifactRetention>): Store | null {
  const parts = assembled.get(store);
  return parts ? assembleStore(parts.context.retaining(change), parts.engine) : null;
}

/**
 * Returns a store over the same data that keeps the bytes of new artifacts in a byte store, or `null` if
 * `assembleStore` did not make it. Closing it closes the original and the byte store. Use only the new store for
 * artifacts.
 */
export function withArtifactBytes(store: Store, bytes: ByteStore): Store | null {
  const parts = assembled.get(store);
  if (!parts?.engine.artifacts || !parts.engine.kv) return null;
  const { context, engine } = parts;
  const artifacts = outsideArtifacts(context, parts.engine.artifacts, parts.engine.kv, bytes);
  const cleaner = new Cleaner([artifactSweep(artifacts, context.clock)]);
  return assembleStore(context, {
    ...engine,
    artifacts,
    tenancy: engine.tenancy && artifacts.tenancy(engine.tenancy),
    durability: () => engine.durability(),
    ping: (call) => engine.ping(call),
    async doctor(call) {
      const report = await engine.doctor(call);
      return { ...report, findings: [...report.findings, ...(await bytes.examine(call))] };
    },
    async close() {
      await cleaner.stop();
      await engine.close();
      await bytes.close();
    },
  });
}

/**
 * Returns a URL that serves the bytes of an artifact to anyone until it expires. The caller has checked who may read
 * the artifact. `null` if only the store can serve them: the engine has the bytes, a codec encodes them, or
 * `assembleStore` did not make the store.
 */
export async function downloadUrlOf(
  store: Store,
  tenantId: string,
  { sha256, filename, mimeType }: Pick<ArtifactRef, 'sha256' | 'filename' | 'mimeType'>,
  expiresInMs: number,
  options?: CallOptions,
): Promise<string | null> {
  const parts = assembled.get(store);
  const { artifacts } = parts?.engine ?? {};
  if (!parts || !artifacts?.downloadUrl || parts.context.payloads.codec !== null) return null;
  return parts.context.read(options, async (call) =>
    artifacts.downloadUrl!(tenantId, sha256, { filename, mimeType }, expiresInMs, call),
  );
}

/**
 * Returns a store over the same data whose run engine has some calls replaced, for example to delay them or make them
 * fail. It closes with the original. `null` if `assembleStore` did not make the store.
 */
export function withRuns(store: Store, change: (runs: RunEngine) => Partial<RunEngine>): Store | null {
  const parts = assembled.get(store);
  const runs = parts?.engine.runs;
  if (!runs) return null;
  return assembleStore(parts.context, { ...parts.engine, runs: withCalls(runs, change(runs)) });
}

/** Whether neither the store nor a loop that uses it has reported this loss yet. */
export function isNewLoss(
  store: Store,
  { tenantId, runId, ...loss }: Omit<HeadWentBack, 'code' | 'severity'>,
): boolean {
  return assembled.get(store)?.context.heads.isNewLoss(headKey({ tenantId, runId }), loss) ?? true;
}

/** Like `withRuns`, for the records engine of KV. */
export function withRecords(store: Store, change: (records: Records) => Partial<Records>): Store | null {
  const parts = assembled.get(store);
  const kv = parts?.engine.kv;
  return kv ? assembleStore(parts.context, { ...parts.engine, kv: withCalls(kv, change(kv)) }) : null;
}

/**
 * Reports the chain format. A store that an older version created keeps the older format until an operator raises it.
 */
function formatFindings(format: ChainFormat | undefined): DoctorFinding[] {
  if (format === undefined) return [];
  const message = `New events have chain format ${format}`;
  if (format === NEWEST_CHAIN_FORMAT) return [{ check: 'format', status: 'ok', message }];
  const fix = 'Once no process of an older version uses the store, run `tidemark migrate up`';
  return [{ check: 'format', status: 'warn', message: `${message}, which does not cover their times`, fix }];
}

const AGENT_ENGINES = [...AGENT_PARTS, 'sessions'] as const satisfies readonly (keyof AgentEngine & Capability)[];

class EngineStore implements Store {
  readonly runs: Store['runs'];
  readonly kv: Store['kv'];
  readonly jobs: Store['jobs'];
  readonly agents: Store['agents'];
  readonly artifacts: Store['artifacts'];
  readonly admin: Store['admin'];
  readonly #context: StoreContext;
  readonly #engine: Engine;
  readonly #tenantId: string | null;
  readonly #capabilities: Capabilities;
  #closing: Promise<void> | undefined;

  constructor(context: StoreContext, engine: Engine, tenantId: string | null) {
    this.#context = context;
    this.#engine = engine;
    this.#tenantId = tenantId;
    this.#capabilities = capabilitiesOf(engine);
    const tenant = tenantId ?? DEFAULT_TENANT;
    const view = tenantId === null ? null : { tenantId };
    const inlineView = engine.can['runs.inlineProjections']
      ? (tenantId: string) => new EngineStore(context.confinedTo(tenantId), engine, tenantId)
      : null;
    this.runs = new Runs(context, engine.runs ?? refusing('runs'), view, {
      canRedact: engine.can['runs.redaction'] === true,
      canNotice: engine.can['runs.notices'] === true,
      canListByUpdate: engine.can['runs.listByUpdate'] === true,
      inlineAppends: (runs, options) => inlineAppend(context, runs, options, inlineView),
      dropStates: async (run, call) => engine.kv && dropStates(engine.kv, run, call),
    });
    this.kv = new Kv(context, engine.kv ?? refusing('kv'), tenant, engine.can['kv.atomicBatch'] === true);
    this.jobs = new Jobs(context, engine.kv ?? refusing('jobs'), tenant);
    this.agents = createAgents(context, completeAgents(engine.agents ?? {}), tenant);
    this.artifacts = createArtifacts(context, engine.artifacts ?? refusing('artifacts'), tenant, tenantId !== null);
    this.admin = createAdmin(context, adminEngines(engine), this.runs, tenant);
  }

  get info(): StoreInfo {
    return {
      backend: this.#engine.backend,
      version: this.#engine.version,
      contractVersion: CONTRACT_VERSION,
      capabilities: { ...this.#capabilities },
      durability: this.#engine.durability(),
      clock: this.#engine.clock ?? 'unknown',
      limits: { ...this.#context.limits },
      encrypts: this.#context.payloads.codec?.encrypts ?? false,
      ...(this.#tenantId === null ? {} : { tenantId: this.#tenantId }),
    };
  }

  forTenant(tenantId: string): Store {
    checkId(tenantId, 'tenantId');
    if (this.#tenantId !== null && this.#tenantId !== tenantId) {
      throw new TidemarkError('TENANT_MISMATCH', 'A view of one tenant cannot give a view of another', {
        field: 'tenantId',
        rule: 'the tenant of the view',
      });
    }
    return new EngineStore(this.#context.confinedTo(tenantId), this.#engine, tenantId);
  }

  async ping(options?: CallOptions): Promise<boolean> {
    try {
      await this.#context.read(options, (call) => this.#engine.ping(call));
      return true;
    } catch (error) {
      if (isTidemarkError(error, 'STORE_CLOSED', 'ABORTED', 'INVALID_ARGUMENT')) throw error;
      return false;
    }
  }

  async doctor(options?: DoctorOptions): Promise<DoctorReport> {
    const report = await this.#context.read(options, (call) => this.#engine.doctor(call));
    if (options?.deep || options?.storage)
      report.findings.push(...((await this.#engine.examineStorage?.(this.#tenantId)) ?? []));
    if (options?.deep) report.findings.push(...(await deepFindings(this.admin, options)));
    const { runs } = this.#engine;
    report.findings.push(...formatFindings(this.#engine.chainFormat?.()));
    if (runs)
      report.findings.push(
        ...(await this.#context.read(options, (call) => quarantineFindings(runs, this.#tenantId, call))),
      );
    const ok = report.findings.every((finding) => finding.status !== 'fail');
    return { backend: this.#engine.backend, ok, ...report };
  }

  close(): Promise<void> {
    if (this.#tenantId !== null) return Promise.resolve();
    this.#closing ??= this.#close();
    return this.#closing;
  }

  async #close(): Promise<void> {
    this.#context.close();
    await this.#engine.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

function capabilitiesOf(engine: Engine): Capabilities {
  const present = new Set<Capability>();
  for (const domain of ['runs', 'kv', 'artifacts'] as const) if (engine[domain]) present.add(domain);
  present.add('payloadCodec');
  if (engine.tenancy) present.add('admin');
  if (engine.kv) present.add('jobs').add('kv.orderedRevisions');
  for (const part of AGENT_ENGINES) if (engine.agents?.[part]) present.add(part);
  for (const [capability, can] of Object.entries(engine.can)) if (can) present.add(capability as Capability);
  return Object.fromEntries(CAPABILITIES.map((it) => [it, present.has(it)])) as Record<Capability, boolean>;
}

function adminEngines(engine: Engine): AdminEngines {
  const { runs, kv, artifacts, agents = {} } = engine;
  const has: Partial<Record<TenantPart, unknown>> = { ...agents, runs, kv, artifacts };
  return {
    tenancy: engine.tenancy ?? refusing('admin'),
    agents: completeAgents(agents),
    artifacts: artifacts ?? refusing('artifacts'),
    records: kv ?? null,
    parts: new Set(TENANT_PARTS.filter((part) => has[part])),
  };
}

function completeAgents(parts: Partial<AgentEngine>): AgentEngine {
  return Object.fromEntries(
    AGENT_ENGINES.map((part) => [part, parts[part] ?? refusing(part)]),
  ) as unknown as AgentEngine;
}

/** Stands in for a part the engine lacks: every call throws `UNSUPPORTED`. */
function refusing<T extends object>(capability: Capability): T {
  const refuse = () => {
    throw new TidemarkError('UNSUPPORTED', `This store has no ${capability}; see info.capabilities for what it has`, {
      field: capability,
      rule: 'a capability of the store',
    });
  };
  return new Proxy({} as T, { get: () => refuse });
}
