/** Flow events in SQL: unique by (trace, identity), read in pages ordered by `ts`, then by insertion (AGT-2). */
import type { EventEngine, FlowEventRow } from '@tidemark/core/engine';
import { NOW, type SqlDatabase, type SqlValue } from '../database.ts';
import { batchesOf, placeholders } from '../statements.ts';
import { integerOf, type SqlInteger } from '../values.ts';

const PAGE = 500;

/** Stored as the trace of events without a trace. Ids are never empty (GEN-5). */
const NO_TRACE = '';

interface EventRow {
  id: SqlInteger;
  identity: string;
  ts: number;
  kind: string;
  node_name: string | null;
  node_id: string | null;
  event_id: string | null;
  payload: string;
}

export function sqlEvents(db: SqlDatabase): EventEngine {
  return {
    append(tenantId, rows, call) {
      return db.write(async (tx) => {
        for (const batch of batchesOf(rows)) {
          const sql = `
            INSERT INTO @flow_events
              (tenant_id, trace_id, identity, ts, kind, node_name, node_id, event_id, payload, created_at)
            VALUES ${placeholders(batch.length, `(?, ?, ?, ?, ?, ?, ?, ?, ?, ${NOW})`)}
            ON CONFLICT (tenant_id, trace_id, identity) DO NOTHING`;
          await tx.all(
            sql,
            batch.flatMap((row) => columnsOf(tenantId, row)),
          );
        }
      }, call);
    },

    async *read(tenantId, traceId, call) {
      let after: readonly SqlValue[] = [];
      for (;;) {
        const rows: EventRow[] = await db.read(
          `SELECT id, identity, ts, kind, node_name, node_id, event_id, payload
             FROM @flow_events
            WHERE tenant_id = ? AND trace_id = ? ${after.length > 0 ? 'AND (ts, id) > (?, ?)' : ''}
            ORDER BY ts, id
            LIMIT ${PAGE}`,
          [tenantId, traceId ?? NO_TRACE, ...after],
          call,
        );
        if (rows.length > 0) yield rows.map((row) => eventOf(traceId, row));
        if (rows.length < PAGE) return;
        const last = rows.at(-1)!;
        after = [last.ts, integerOf(last.id)];
      }
    },
  };
}

function columnsOf(tenantId: string, row: FlowEventRow): SqlValue[] {
  const { id, ts, kind, nodeName, nodeId, eventId, payload } = row;
  return [tenantId, row.traceId ?? NO_TRACE, id, ts, kind, nodeName, nodeId, eventId, payload];
}

function eventOf(traceId: string | null, row: EventRow): FlowEventRow {
  const { identity, ts, kind, node_name, node_id, event_id, payload } = row;
  return { traceId, id: identity, ts, kind, nodeName: node_name, nodeId: node_id, eventId: event_id, payload };
}
