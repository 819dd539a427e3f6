/**
 * Operations across tenants in SQL (GEN-10): listing tenants, and erasing one. Every step is a separate transaction
 * over a few rows, and the next step finds the remaining ones.
 */
import type { TenantPart } from '@tidemark/core';
import {
  type EngineCall,
  firstAfter,
  inParts,
  type Records,
  type RunKey,
  type RunTombstone,
  type TenancyEngine,
} from '@tidemark/core/engine';
import type { LargeBlobs } from './artifacts/large-blobs.ts';
import { eraseArtifacts } from './artifacts/removal.ts';
import type { SqlDatabase } from './database.ts';
import { eraseAnswers } from './requests.ts';
import { distinctSql } from './statements.ts';

/**
 * The tables of each part. Only rows of the first table are counted. Sessions are removed with the last part that
 * refers to them.
 */
const TABLES: Record<TenantPart, readonly string[]> = {
  runs: ['runs'],
  kv: ['kv_records'],
  events: ['flow_events'],
  bindings: ['remote_bindings'],
  pauses: ['planner_pauses'],
  memory: ['memory_states'],
  tasks: ['tasks'],
  updates: ['updates'],
  steering: ['steering'],
  trajectories: ['trajectories', 'sessions'],
  plannerEvents: ['planner_events'],
  artifacts: ['artifacts', 'artifact_blobs', 'artifact_uploads'],
};

/** The columns that identify a row of a table within its tenant. */
const KEYS: Record<string, string> = {
  flow_events: 'id',
  remote_bindings: 'trace_id, context_id, task_id',
  planner_pauses: 'pause_id',
  memory_states: 'key',
  tasks: 'session_id, task_id',
  updates: 'session_id, seq',
  steering: 'session_id, seq',
  trajectories: 'trace_id',
  sessions: 'session_id',
  planner_events: 'id',
  run_notices: 'position',
};

/** Removes a limited number of matching rows, in any order. */
const removeSome = (table: string, where: string) => `
  DELETE FROM @${table} WHERE ${where} AND (${KEYS[table]}) IN (SELECT ${KEYS[table]} FROM @${table} WHERE ${where} LIMIT ?)
  RETURNING 1 AS gone`;

const TRACED_TABLES = { events: 'flow_events', bindings: 'remote_bindings', plannerEvents: 'planner_events' } as const;
const OF_TENANT = 'tenant_id = ?';
const RUNS_AT_ONCE = 8;

/** A run that is being restored does not count as removed. */
const REMOVED = `
  SELECT run_id, removed FROM @runs
  WHERE tenant_id = ? AND removed IS NOT NULL AND run_id > ?
    AND CAST(removed AS text) NOT LIKE '%"kind":"restoring"%' AND CAST(removed AS text) NOT LIKE '%"kind": "restoring"%'
  ORDER BY run_id LIMIT ?`;

/** The part of the run engine that an erasure needs. The run engine knows the heads that are cached in memory. */
export interface ErasableRuns {
  remove(run: RunKey, tombstone: RunTombstone, call: EngineCall): Promise<boolean>;
}

export function sqlTenancy(
  db: SqlDatabase,
  runs: ErasableRuns,
  records: Pick<Records, 'erase'>,
  largeBlobs?: LargeBlobs,
): TenancyEngine {
  const remove = async (table: string, where: string, params: readonly string[], limit: number, call: EngineCall) => {
    const sql = removeSome(table, where);
    return (await db.write((tx) => tx.all(sql, [...params, ...params, limit]), call)).length;
  };

  const eraseRuns = async (tenantId: string, limit: number, call: EngineCall) => {
    const sql = 'SELECT run_id FROM @runs WHERE tenant_id = ? ORDER BY run_id LIMIT ?';
    const found = await db.read<{ run_id: string }>(sql, [tenantId, limit], call);
    for (const some of inParts(found, RUNS_AT_ONCE)) {
      await Promise.all(some.map(({ run_id }) => eraseRun({ tenantId, runId: run_id }, call)));
    }
    // If the store keeps its runs elsewhere, this database has only their snapshots.
    if (found.length === 0) {
      await db.write(async (tx) => {
        await tx.all('DELETE FROM @run_snapshots WHERE tenant_id = ?', [tenantId]);
        await tx.all('DELETE FROM @run_quarantines WHERE tenant_id = ?', [tenantId]);
      }, call);
      while ((await remove('run_notices', OF_TENANT, [tenantId], limit, call)) > 0);
    }
    return found.length;
  };

  /** Removes the events behind the tombstone; removes the tombstone when no event is left. */
  const eraseRun = async (run: RunKey, call: EngineCall) => {
    await runs.remove(run, { kind: 'deleted', at: 0 }, call);
    const key = [run.runId, run.tenantId];
    await db.write(async (tx) => {
      await tx.all('DELETE FROM @run_snapshots WHERE run_id = ? AND tenant_id = ?', key);
      await tx.all('DELETE FROM @runs WHERE run_id = ? AND tenant_id = ? AND removed IS NOT NULL', key);
    }, call);
  };

  return {
    async tenants(part, after, limit, call) {
      const pages = await Promise.all(
        TABLES[part].map((table) =>
          db.read<{ item: string }>(distinctSql(table, 'tenant_id'), [after ?? '', limit], call),
        ),
      );
      return firstAfter(
        pages.flat().map(({ item }) => item),
        after,
        limit,
      );
    },

    async erase(part, tenantId, limit, call) {
      if (part === 'runs') return eraseRuns(tenantId, limit, call);
      if (part === 'kv') return (await records.erase('kv', tenantId, limit, call)).length;
      if (part === 'artifacts') return eraseArtifacts(db, largeBlobs, tenantId, limit, call);
      const [counted, ...others] = TABLES[part] as [string, ...string[]];
      const removed = await remove(counted, OF_TENANT, [tenantId], limit, call);
      if (removed > 0) return removed;
      if (part === 'memory') await eraseAnswers(db, tenantId, call);
      for (const table of others) while ((await remove(table, OF_TENANT, [tenantId], limit, call)) > 0);
      return 0;
    },

    eraseTrace(part, tenantId, traceId, limit, call) {
      return remove(TRACED_TABLES[part], `${OF_TENANT} AND trace_id = ?`, [tenantId, traceId], limit, call);
    },

    erasePauses(tenantId, sessionId, limit, call) {
      return remove('planner_pauses', `${OF_TENANT} AND session_id = ?`, [tenantId, sessionId], limit, call);
    },

    /** Compares the session again in the row that is removed: a writer may have moved the binding since it was read. */
    eraseBindings(tenantId, routerSessionId, limit, call) {
      const where = `${OF_TENANT} AND router_session_id = ?`;
      return remove('remote_bindings', where, [tenantId, routerSessionId], limit, call);
    },

    async removedRuns(tenantId, after, limit, call) {
      const rows = await db.read<{ run_id: string; removed: string | RunTombstone }>(
        REMOVED,
        [tenantId, after ?? '', limit],
        call,
      );
      return rows.map(({ run_id, removed }) => ({
        runId: run_id,
        tombstone: typeof removed === 'string' ? (JSON.parse(removed) as RunTombstone) : removed,
      }));
    },

    async traces(part, tenantId, after, limit, call) {
      const sql = distinctSql(TRACED_TABLES[part], 'trace_id', `${OF_TENANT} AND `);
      const rows = await db.read<{ item: string }>(sql, [tenantId, after ?? '', tenantId, limit], call);
      return rows.map(({ item }) => item);
    },
  };
}
