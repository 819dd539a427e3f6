/** The port for operations across tenants: listing tenants and removing everything that a tenant stores. */
import type { TenantPart } from '../contracts/admin.ts';
import type { EngineCall } from './call.ts';
import type { RunTombstone } from './runs.ts';

/** Parts that are stored by trace. */
export const TRACED_PARTS = ['events', 'bindings', 'plannerEvents'] as const satisfies readonly TenantPart[];
export type TracedPart = (typeof TRACED_PARTS)[number];

/** A removed run and its tombstone. */
export interface RemovedRunRow {
  runId: string;
  tombstone: RunTombstone;
}

export interface TenancyEngine {
  /** Lists tenants that have any data of a part, in byte order, after a given one. */
  tenants(part: TenantPart, after: string | null, limit: number, call: EngineCall): Promise<string[]>;
  /**
   * Removes up to `limit` items of a part with everything that belongs to them: indexes, tombstones, bytes. Returns how
   * many it removed: 0 only when nothing is left.
   */
  erase(part: TenantPart, tenantId: string, limit: number, call: EngineCall): Promise<number>;
  /** Removes up to `limit` items of a part that belong to a trace. Returns how many: 0 only when nothing is left. */
  eraseTrace(part: TracedPart, tenantId: string, traceId: string, limit: number, call: EngineCall): Promise<number>;
  /** Removes up to `limit` pauses of a session, including expired and consumed ones. Returns how many it removed. */
  erasePauses(tenantId: string, sessionId: string, limit: number, call: EngineCall): Promise<number>;
  /**
   * Removes up to `limit` bindings of a router's session, each only as it was read: a binding that a writer has moved
   * to another session since then stays. Returns how many it removed: 0 only when nothing is left.
   */
  eraseBindings(tenantId: string, routerSessionId: string, limit: number, call: EngineCall): Promise<number>;
  /** Lists deleted and archived runs of a tenant, in byte order of ids, after a given one. */
  removedRuns(tenantId: string, after: string | null, limit: number, call: EngineCall): Promise<RemovedRunRow[]>;
  /** Lists traces of a tenant that have any data of a part, in byte order, after a given one. */
  traces(part: TracedPart, tenantId: string, after: string | null, limit: number, call: EngineCall): Promise<string[]>;
}
