/** What only an operator does: look over all tenants, copy what no other call lists, erase. */
import { AGENT_PARTS, type PauseInfo } from './agents.ts';
import type { CallOptions, Page, PageOptions } from './common.ts';

/** Parts of a store that hold data of a tenant. */
export const TENANT_PARTS = ['runs', 'kv', ...AGENT_PARTS, 'artifacts'] as const;

export type TenantPart = (typeof TENANT_PARTS)[number];

/** What an erasure removed. */
export interface ErasureReport {
  tenantId: string;
  sessionId?: string;
  /** How many things of each part; parts that had none are left out. */
  removed: Partial<Record<TenantPart, number>>;
}

/** Options of an erasure. */
export interface ErasureOptions extends CallOptions {
  /** Told what was removed so far, after every step. */
  onProgress?: (report: ErasureReport) => void;
}

/** A pause with what it holds. */
export interface PauseContent extends PauseInfo {
  payload: unknown;
}

/** What is known of a run that was removed and left a tombstone. */
export interface RemovedRun {
  tenantId: string;
  runId: string;
  kind: 'deleted' | 'archived';
  /** When it was removed. */
  at: string;
  /** Where an archived run lies. */
  location?: string;
}

/** Where a check looks: a part, or all that belongs to sessions or traces. */
export type CheckedPart = 'runs' | 'kv' | 'memory' | 'pauses' | 'sessions' | 'traces' | 'artifacts';

/** A value that is not what was stored. */
export interface DamagedValue {
  tenantId: string;
  part: CheckedPart;
  /** The run, key, session, trace or artifact, with the item in it where there are several. */
  name: string;
  reason: string;
}

/** What a step of a check found. */
export interface CheckPage {
  /** How many values were read: runs, records, documents, artifacts. */
  checked: number;
  /** How many of them were stored before there were checksums. */
  unsummed: number;
  damaged: DamagedValue[];
  /** Where the next step goes on; absent at the end. */
  next?: string;
}

/** The operator's calls. In a view they speak of the view's tenant only. */
export interface AdminStore {
  /** Tenants that have anything here, in byte order; 1 to 1 000 a page, default 100. */
  listTenants(options?: PageOptions): Promise<Page<string>>;
  /** Traces of a tenant that have flow events, remote bindings or planner events, in byte order. */
  listAllTraces(options?: PageOptions & { tenantId?: string }): Promise<Page<string>>;
  /** A pause that waits, with its payload, without consuming it: to carry it elsewhere. `null` for any other. */
  readPause(pauseId: string, options?: CallOptions & { tenantId?: string }): Promise<PauseContent | null>;
  /**
   * Lets a pause that was read elsewhere wait here until the same time, for the same token. False when it has expired
   * or was consumed here. A pause that was consumed elsewhere (`state: 'consumed'`, without a payload) is consumed here
   * too, so that its token resumes nothing; false when it has expired or is claimed here at the moment.
   */
  putPause(
    pause: PauseContent | (PauseInfo & { state: 'consumed'; payload?: undefined }),
    options?: CallOptions & { tenantId?: string },
  ): Promise<boolean>;
  /** Runs of a tenant that were deleted or archived and left a tombstone, in byte order of ids; 1 to 1 000 a page, default 100. */
  listRemovedRuns(options?: PageOptions & { tenantId?: string }): Promise<Page<RemovedRun>>;
  /**
   * Reads some of what the store holds and compares it with chains and checksums: `limit` values or a few more, 1 to 1 000,
   * default 100. The whole store is checked when no `next` is left; a check can stop and go on from it later.
   */
  check(options?: PageOptions): Promise<CheckPage>;
  /**
   * Removes everything of a tenant: rows, indexes, tombstones and bytes, in small steps. Interrupted, the same call
   * finishes the job. Whoever still writes for the tenant must be stopped first: what comes later stays.
   */
  eraseTenant(tenantId: string, options?: ErasureOptions): Promise<ErasureReport>;
  /**
   * Removes everything of a session, its traces and its artifacts, in small steps. For 30 days a record of the tenant,
   * `tidemark.erased.` and the SHA-256 of the session's id, says when, so that copies made before can follow.
   */
  eraseSession(sessionId: string, options?: ErasureOptions & { tenantId?: string }): Promise<ErasureReport>;
}
