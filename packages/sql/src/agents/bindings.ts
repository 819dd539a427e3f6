/**
 * Remote bindings in SQL: one row per trace, context (optional) and task. The last save wins (AGT-3). `recency` orders
 * the bindings of a router's session (AGT-13); rows written by older versions of the library have no recency.
 */
import type { BindingKey } from '@tidemark/core';
import { type BindingEngine, type BindingRow, corruptValue, sumNames } from '@tidemark/core/engine';
import { NOW, type SqlDatabase, type SqlTransaction } from '../database.ts';
import { integerOf, type SqlInteger } from '../values.ts';

/** Stored as the context of bindings without a context. Ids are never empty (GEN-5). */
const NO_CONTEXT = '';
const PAGE = 100;

interface StoredBinding {
  trace_id: string;
  context_id: string;
  task_id: string;
  agent_url: string;
  sum: number | null;
  router_session_id: string | null;
  is_terminal: SqlInteger | null;
  about_sum: number | null;
  details: string | null;
  recency: SqlInteger | null;
}

const COLUMNS =
  'trace_id, context_id, task_id, agent_url, sum, router_session_id, is_terminal, about_sum, details, recency';
const OF_BINDING = 'WHERE tenant_id = ? AND trace_id = ? AND context_id = ? AND task_id = ?';

/** A recency above every recency of the session and of the row, so that the latest change always comes first. */
const LAST = '(SELECT COALESCE(MAX(recency), 0) FROM @remote_bindings WHERE tenant_id = ? AND router_session_id = ?)';

const SAVE = `
  INSERT INTO @remote_bindings AS stored (
    tenant_id, trace_id, context_id, task_id, agent_url, sum,
    router_session_id, is_terminal, about_sum, details, recency, created_at, updated_at
  )
  SELECT ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, CASE WHEN last < now * 1000 THEN now * 1000 ELSE last + 1 END, now, now
  FROM (SELECT ${NOW} AS now, ${LAST} AS last) AS clock WHERE true
  ON CONFLICT (tenant_id, trace_id, context_id, task_id) DO UPDATE SET
    agent_url         = excluded.agent_url,
    sum               = excluded.sum,
    router_session_id = excluded.router_session_id,
    is_terminal       = excluded.is_terminal,
    about_sum         = excluded.about_sum,
    details           = excluded.details,
    recency           = CASE WHEN stored.recency >= excluded.recency THEN stored.recency + 1 ELSE excluded.recency END,
    updated_at        = excluded.updated_at`;

const END = `
  UPDATE @remote_bindings SET
    is_terminal = 1,
    about_sum   = ?,
    recency     = (
      SELECT CASE WHEN last < now * 1000 THEN now * 1000 ELSE last + 1 END
      FROM (SELECT ${NOW} AS now, ${LAST} AS last) AS clock
    ),
    updated_at  = ${NOW}
  ${OF_BINDING}`;

export function sqlBindings(db: SqlDatabase): BindingEngine {
  return {
    async save(tenantId, binding, call) {
      const key = keyOf(tenantId, binding);
      const { agentUrl, routerSessionId, isTerminal, details } = binding;
      const terminal = isTerminal === null ? null : Number(isTerminal);
      const about = [routerSessionId, terminal, aboutSum(key, routerSessionId, terminal), details];
      const params = [...key, agentUrl, sumOf(key, agentUrl), ...about, tenantId, routerSessionId];
      await db.write((tx) => tx.all(SAVE, params), call);
    },

    async list(tenantId, traceId, call) {
      const rows = await db.read<StoredBinding>(
        `SELECT ${COLUMNS} FROM @remote_bindings
          WHERE tenant_id = ? AND trace_id = ?
          ORDER BY context_id, task_id`,
        [tenantId, traceId],
        call,
      );
      return rows.map((row) => rowOf(tenantId, row));
    },

    async *readSession(tenantId, routerSessionId, call) {
      let after: { recency: number; key: string[] } | null = null;
      for (;;) {
        const rows: StoredBinding[] = await readPage(db, tenantId, routerSessionId, after, call);
        if (rows.length > 0) yield rows.map((row) => rowOf(tenantId, row));
        const last = rows.at(-1);
        if (!last || rows.length < PAGE) return;
        after = { recency: integerOf(last.recency!), key: [last.trace_id, last.context_id, last.task_id] };
      }
    },

    markTerminal(tenantId, binding, call) {
      const key = keyOf(tenantId, binding);
      return db.write(async (tx) => {
        const stored = await look(tx, key, db.forUpdate);
        if (!stored) return false;
        const { isTerminal, routerSessionId } = rowOf(tenantId, stored);
        if (isTerminal !== true)
          await tx.all(END, [aboutSum(key, routerSessionId, 1), tenantId, routerSessionId, ...key]);
        return true;
      }, call);
    },
  };
}

/**
 * Reads a page of bindings. Rows with the same recency, which only concurrent writers can create, are in order of their
 * keys.
 */
function readPage(
  db: SqlDatabase,
  tenantId: string,
  routerSessionId: string,
  after: { recency: number; key: string[] } | null,
  call: Parameters<SqlDatabase['read']>[2],
): Promise<StoredBinding[]> {
  const where =
    after === null ? '' : 'AND (recency < ? OR (recency = ? AND (trace_id, context_id, task_id) > (?, ?, ?)))';
  return db.read<StoredBinding>(
    `SELECT ${COLUMNS} FROM @remote_bindings
      WHERE tenant_id = ? AND router_session_id = ? ${where}
      ORDER BY recency DESC, trace_id, context_id, task_id
      LIMIT ?`,
    [tenantId, routerSessionId, ...(after === null ? [] : [after.recency, after.recency, ...after.key]), PAGE],
    call,
  );
}

async function look(tx: SqlTransaction, key: readonly string[], forUpdate: string): Promise<StoredBinding | undefined> {
  const [row] = await tx.all<StoredBinding>(`SELECT ${COLUMNS} FROM @remote_bindings ${OF_BINDING}${forUpdate}`, key);
  return row;
}

function keyOf(tenantId: string, { traceId, contextId, taskId }: BindingKey): [string, string, string, string] {
  return [tenantId, traceId, contextId ?? NO_CONTEXT, taskId];
}

/** Returns the checksum of a row. Older versions also verify it, so it covers only the columns that they know. */
function sumOf(key: readonly string[], agentUrl: string): number {
  return sumNames(['binding', ...key, agentUrl]);
}

function aboutSum(key: readonly string[], session: string | null, terminal: number | null): number {
  return sumNames(['binding of a router', ...key, session ?? '', terminal === null ? '' : String(terminal)]);
}

function rowOf(tenantId: string, row: StoredBinding): BindingRow {
  const contextId = row.context_id === NO_CONTEXT ? null : row.context_id;
  const key = keyOf(tenantId, { traceId: row.trace_id, contextId, taskId: row.task_id });
  const terminal = row.is_terminal === null ? null : integerOf(row.is_terminal);
  const isIntact =
    (row.sum === null || row.sum === sumOf(key, row.agent_url)) &&
    (row.about_sum === null || row.about_sum === aboutSum(key, row.router_session_id, terminal));
  if (!isIntact) throw corruptValue('binding', `${row.trace_id} / ${row.task_id}`);
  return {
    traceId: row.trace_id,
    contextId,
    taskId: row.task_id,
    agentUrl: row.agent_url,
    routerSessionId: row.router_session_id,
    isTerminal: terminal === null ? null : terminal === 1,
    details: row.details,
  };
}
