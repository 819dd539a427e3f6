/**
 * Sessions in SQL. Every save in a session writes the session's row first. That locks the row until the commit, so that
 * its numbers are in commit order (AGT-7) and a removal never finds a half-written save.
 */
import { type SessionEngine, timeText } from '@tidemark/core/engine';
import { CLOCK, type SqlDatabase, type SqlTransaction } from '../database.ts';
import { integerOf, type SqlInteger } from '../values.ts';

interface SessionRow {
  session_id: string;
  created_at: SqlInteger;
  last_active_at: SqlInteger;
}

/** `last_active_at` never moves back, even if the clock does. */
const ENTER = `
  INSERT INTO @sessions AS stored (tenant_id, session_id, created_at, last_active_at, last_number)
  SELECT ?, ?, now, now, 1 FROM ${CLOCK} WHERE true
  ON CONFLICT (tenant_id, session_id) DO UPDATE SET
    last_active_at = CASE
      WHEN excluded.last_active_at > stored.last_active_at THEN excluded.last_active_at
      ELSE stored.last_active_at
    END,
    last_number = stored.last_number + 1
  RETURNING last_number`;

/** Records that something is being saved in a session, creates the session if needed, and returns its next number. */
export async function enterSession(tx: SqlTransaction, tenantId: string, sessionId: string): Promise<number> {
  const [row] = await tx.all<{ last_number: SqlInteger }>(ENTER, [tenantId, sessionId]);
  return integerOf(row!.last_number);
}

const OF_SESSION = 'WHERE tenant_id = ? AND session_id = ?';
const OF_ITS_TRACES = `
  WHERE tenant_id = ? AND trace_id IN (SELECT trace_id FROM @trajectories ${OF_SESSION})`;

export function sqlSessions(db: SqlDatabase): SessionEngine {
  return {
    async list(tenantId, { after, limit }, call) {
      const rows = await db.read<SessionRow>(
        `SELECT session_id, created_at, last_active_at
           FROM @sessions
          WHERE tenant_id = ? AND session_id > ?
          ORDER BY session_id
          LIMIT ?`,
        [tenantId, after ?? '', limit],
        call,
      );
      return rows.map((row) => ({
        sessionId: row.session_id,
        createdAt: timeText(integerOf(row.created_at)),
        lastActiveAt: timeText(integerOf(row.last_active_at)),
      }));
    },

    remove(tenantId, sessionId, call) {
      const session = [tenantId, sessionId];
      return db.write(async (tx) => {
        // The session's row comes first, so that concurrent saves in the session and this transaction wait for each
        // other.
        await tx.all(`DELETE FROM @sessions ${OF_SESSION}`, session);
        return {
          plannerEvents: await removeAll(tx, 'planner_events', OF_ITS_TRACES, [tenantId, ...session]),
          trajectories: await removeAll(tx, 'trajectories', OF_SESSION, session),
          tasks: await removeAll(tx, 'tasks', OF_SESSION, session),
          updates: await removeAll(tx, 'updates', OF_SESSION, session),
          steering: await removeAll(tx, 'steering', OF_SESSION, session),
        };
      }, call);
    },
  };
}

/** Counts, then removes, because RETURNING would transfer a row for each of a possibly very large number. */
async function removeAll(tx: SqlTransaction, table: string, where: string, params: string[]): Promise<number> {
  const [row] = await tx.all<{ count: SqlInteger }>(`SELECT count(*) AS count FROM @${table} ${where}`, params);
  const count = integerOf(row!.count);
  if (count > 0) await tx.all(`DELETE FROM @${table} ${where}`, params);
  return count;
}
