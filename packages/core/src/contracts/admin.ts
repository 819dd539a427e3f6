/** Operations for operators: list data of all tenants, copy pauses, check the store, erase. */
import { AGENT_PARTS, type PauseInfo } from './agents.ts';
import type { ArtifactRef } from './artifacts.ts';
import type { CallOptions, Page, PageOptions } from './common.ts';

/** The parts of a store that hold data of a tenant. */
// A pure call: bundlers do not remove an unused list that spreads another.
export const TENANT_PARTS = /* @__PURE__ */ (() => ['runs', 'kv', ...AGENT_PARTS, 'artifacts'] as const)();

/** A part of a store that holds data of a tenant. */
export type TenantPart = (typeof TENANT_PARTS)[number];

/** The result of an erasure. */
export interface ErasureReport {
  tenantId: string;
  sessionId?: string;
  /** The number of items removed from each part. Parts without any are absent. */
  removed: Partial<Record<TenantPart, number>>;
}

/** Options of an erasure. `timeoutMs` applies to each of its steps, default 60 000. */
export interface ErasureOptions extends CallOptions {
  /** Called after every step with the items removed so far. */
  onProgress?: (report: ErasureReport) => void;
}

/** A pause with its payload. */
export interface PauseContent extends PauseInfo {
  payload: unknown;
}

/** A removed run that left a tombstone. */
export interface RemovedRun {
  tenantId: string;
  runId: string;
  kind: 'deleted' | 'archived';
  /** When it was removed. */
  at: string;
  /** The location of an archived run. */
  location?: string;
  /** The life that was removed. Absent for the first life. */
  life?: number;
}

/**
 * A reference to an artifact, with the tenant that stores it. Omits the members that a codec may have encoded, because
 * operators list artifacts without their tenants' keys.
 */
export interface StoredArtifact extends Omit<ArtifactRef, 'sha256' | 'source'> {
  tenantId: string;
}

/** The artifacts of one tenant. */
export interface ArtifactTotals {
  tenantId: string;
  /** The number of references that have not expired. */
  references: number;
  /** The number of stored contents. Equal bytes are stored once; bytes without a reference count until a sweep. */
  blobs: number;
  /** The stored size of these contents. */
  bytes: number;
}

/** The scope of a check: a part of the store, or everything that belongs to sessions or traces. */
export type CheckedPart = 'runs' | 'kv' | 'memory' | 'pauses' | 'sessions' | 'traces' | 'artifacts';

/** A stored value that does not match its chain or checksum. */
export interface DamagedValue {
  tenantId: string;
  part: CheckedPart;
  /** The run, key, session, trace or artifact, followed by the item if it has several. */
  name: string;
  reason: string;
}

/** The result of one step of a check. */
export interface CheckPage {
  /** The number of values that were read: runs, records, documents, artifacts. */
  checked: number;
  /** The number of these values that were stored before checksums existed. */
  unsummed: number;
  damaged: DamagedValue[];
  /** The `cursor` of the next step. Absent at the end. */
  next?: string;
}

/**
 * Operations for operators. In a view they cover only the tenant of the view; naming another tenant fails with
 * `TENANT_MISMATCH`. Where a call does not document another default, the option `tenantId` defaults to the tenant
 * `default`. Errors that every call can throw are listed at `Store`.
 */
export interface AdminStore {
  /** Returns a page of the tenants that have any data, in byte order: 1 to 1 000 per page, default 100. */
  listTenants(options?: PageOptions): Promise<Page<string>>;
  /**
   * Returns a page of a tenant's traces that have flow events, remote bindings or planner events, in byte order: 1 to
   * 1 000 per page, default 100.
   */
  listAllTraces(options?: PageOptions & { tenantId?: string }): Promise<Page<string>>;
  /**
   * Returns a waiting pause with its payload, without consuming it, to copy it to another store. Returns `null` for any
   * other pause.
   *
   * @throws `CODEC_FAILED` if this store cannot decode the payload.
   */
  readPause(pauseId: string, options?: CallOptions & { tenantId?: string }): Promise<PauseContent | null>;
  /**
   * Stores a pause that was read from another store, under the same token and with the same expiry. Returns false if it
   * has expired or was consumed here.
   *
   * A pause that was consumed elsewhere (`state: 'consumed'`, without a payload) is consumed here too, so that its
   * token can no longer resume anything. Returns false if it has expired or is currently claimed here.
   */
  putPause(
    pause: PauseContent | (PauseInfo & { state: 'consumed'; payload?: undefined }),
    options?: CallOptions & { tenantId?: string },
  ): Promise<boolean>;
  /**
   * Returns a page of a tenant's deleted and archived runs that left a tombstone, in byte order of ids: 1 to 1 000 per
   * page, default 100.
   */
  listRemovedRuns(options?: PageOptions & { tenantId?: string }): Promise<Page<RemovedRun>>;
  /**
   * Returns a page of the references of one tenant, or of all tenants if none is named, in byte order of tenants and
   * ids: 1 to 1 000 per page, default 100. A page may have fewer items, even none, and still have a `next`.
   *
   * @example
   * await store.forTenant('acme').artifacts.putText('report', { filename: 'report.txt' });
   * const { items } = await store.admin.listArtifacts();
   * console.log(items.map(({ tenantId, filename }) => `${tenantId}: ${filename}`)); // [ 'acme: report.txt' ]
   */
  listArtifacts(options?: PageOptions & { tenantId?: string }): Promise<Page<StoredArtifact>>;
  /**
   * Returns a page with the artifact totals of each tenant that has any, or of one tenant if named, in byte order: 1 to
   * 1 000 per page, default 100. Redis and NATS read all references of a tenant to count them: increase `timeoutMs` if
   * there are very many.
   *
   * @example
   * for (const tenant of ['acme', 'bolt']) await store.forTenant(tenant).artifacts.putText('the same text');
   * const { items } = await store.admin.artifactTotals();
   * console.log(items[0]); // { tenantId: 'acme', references: 1, blobs: 1, bytes: 13 }
   */
  artifactTotals(options?: PageOptions & { tenantId?: string }): Promise<Page<ArtifactTotals>>;
  /**
   * Reads a part of the store and compares it with chains and checksums: about `limit` values, 1 to 1 000, default 100.
   *
   * Pass `next` as `cursor` to continue, at any later time. When `next` is absent, the whole store has been checked.
   */
  check(options?: PageOptions): Promise<CheckPage>;
  /**
   * Erases all data of a tenant: rows, indexes, tombstones and bytes, in small steps. A retry continues an interrupted
   * erasure.
   *
   * Stop all writers of the tenant first: data written during the erasure may stay.
   */
  eraseTenant(tenantId: string, options?: ErasureOptions): Promise<ErasureReport>;
  /**
   * Erases all data of a session: its tasks, updates, steering events, trajectories, pauses, memory and artifacts, the
   * events and bindings of its traces, and the bindings that name it as `routerSessionId`, in small steps. A retry
   * continues an interrupted erasure.
   *
   * Keeps a KV record of the erasure for 30 days, so that later copies also erase the session in their target. Its key
   * is `tidemark.erased.` and the SHA-256 of the session id.
   *
   * @example
   * await store.artifacts.putText('draft', { scope: { sessionId: 's1' } });
   * await store.agents.savePlannerState(mintPauseToken(), { step: 3 }, { sessionId: 's1' });
   * const { removed } = await store.admin.eraseSession('s1');
   * console.log(removed); // { artifacts: 1, pauses: 1 }
   */
  eraseSession(sessionId: string, options?: ErasureOptions & { tenantId?: string }): Promise<ErasureReport>;
}
