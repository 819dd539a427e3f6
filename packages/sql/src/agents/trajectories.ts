/** Trajectories in SQL: a trace has one row and one session. Its number in the session orders by recency (AGT-9). */
import type { TrajectoryEngine } from '@tidemark/core/engine';
import { NOW, type SqlDatabase } from '../database.ts';
import { enterSession } from './sessions.ts';

/** A trace of another session is not changed, and no row is returned. */
const SAVE = `
  INSERT INTO @trajectories AS stored (tenant_id, trace_id, session_id, recency, saved_at, body)
  VALUES (?, ?, ?, ?, ${NOW}, ?)
  ON CONFLICT (tenant_id, trace_id) DO UPDATE SET
    recency  = excluded.recency,
    saved_at = excluded.saved_at,
    body     = excluded.body
  WHERE stored.session_id = excluded.session_id
  RETURNING trace_id`;

/** Rolls back the transaction, so that a refused save does not create a session. */
class OtherSession extends Error {}

export function sqlTrajectories(db: SqlDatabase): TrajectoryEngine {
  return {
    async save(tenantId, { traceId, sessionId, body }, call) {
      try {
        await db.write(async (tx) => {
          const recency = await enterSession(tx, tenantId, sessionId);
          const saved = await tx.all(SAVE, [tenantId, traceId, sessionId, recency, body]);
          if (saved.length === 0) throw new OtherSession('The trace belongs to another session');
        }, call);
        return 'saved';
      } catch (error) {
        if (error instanceof OtherSession) return 'other-session';
        throw error;
      }
    },

    async get(tenantId, traceId, sessionId, call) {
      const [row] = await db.read<{ body: string }>(
        'SELECT body FROM @trajectories WHERE tenant_id = ? AND trace_id = ? AND session_id = ?',
        [tenantId, traceId, sessionId],
        call,
      );
      return row?.body ?? null;
    },

    async list(tenantId, sessionId, limit, call) {
      const rows = await db.read<{ trace_id: string }>(
        `SELECT trace_id FROM @trajectories WHERE tenant_id = ? AND session_id = ? ORDER BY recency DESC LIMIT ?`,
        [tenantId, sessionId, limit],
        call,
      );
      return rows.map((row) => row.trace_id);
    },
  };
}
