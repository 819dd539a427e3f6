/** The port for what an operator does across tenants: which there are, and removing all that one has. */
import type { TenantPart } from '../contracts/admin.ts';
import type { EngineCall } from './call.ts';
import type { RunTombstone } from './runs.ts';

/** Parts that are kept by trace. */
export const TRACED_PARTS = ['events', 'bindings', 'plannerEvents'] as const satisfies readonly TenantPart[];
export type TracedPart = (typeof TRACED_PARTS)[number];

/** A run that was removed, with what stays of it. */
export interface RemovedRunRow {
  runId: string;
  tombstone: RunTombstone;
}

export interface TenancyEngine {
  /** Tenants that have anything of a part, in byte order, after one of them. */
  tenants(part: TenantPart, after: string | null, limit: number, call: EngineCall): Promise<string[]>;
  /**
   * Removes up to `limit` things of a part and what belongs to them: indexes, tombstones, bytes. Gives how many; 0 when
   * nothing is left.
   */
  erase(part: TenantPart, tenantId: string, limit: number, call: EngineCall): Promise<number>;
  /** Removes up to `limit` things that a part has of a trace; gives how many, 0 when nothing is left. */
  eraseTrace(part: TracedPart, tenantId: string, traceId: string, limit: number, call: EngineCall): Promise<number>;
  /** Removes up to `limit` pauses of a session, expired and consumed ones too; gives how many. */
  erasePauses(tenantId: string, sessionId: string, limit: number, call: EngineCall): Promise<number>;
  /** Deleted and archived runs of a tenant, in byte order of ids, after one of them. */
  removedRuns(tenantId: string, after: string | null, limit: number, call: EngineCall): Promise<RemovedRunRow[]>;
  /** Traces of a tenant that have anything of a part, in byte order, after one of them. */
  traces(part: TracedPart, tenantId: string, after: string | null, limit: number, call: EngineCall): Promise<string[]>;
}
