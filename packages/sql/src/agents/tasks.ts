/** Tasks in SQL: one row per (session, task). An older save does not change it (AGT-6). */
import type { TaskEngine } from '@tidemark/core/engine';
import type { SqlDatabase } from '../database.ts';
import { integerOf, type SqlInteger } from '../values.ts';
import { enterSession } from './sessions.ts';

const PAGE = 100;

/** The number of the first save is kept, because it orders tasks with the same `created_at`. */
const SAVE = `
  INSERT INTO @tasks AS stored (tenant_id, session_id, task_id, number, status, created_at, updated_at, body)
  VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant_id, session_id, task_id) DO UPDATE SET
    status     = excluded.status,
    created_at = excluded.created_at,
    updated_at = excluded.updated_at,
    body       = excluded.body
  WHERE stored.updated_at <= excluded.updated_at`;

export function sqlTasks(db: SqlDatabase): TaskEngine {
  return {
    save(tenantId, { sessionId, taskId, status, createdAt, updatedAt, body }, call) {
      return db.write(async (tx) => {
        const number = await enterSession(tx, tenantId, sessionId);
        await tx.all(SAVE, [tenantId, sessionId, taskId, number, status, createdAt, updatedAt, body]);
      }, call);
    },

    async *read(tenantId, sessionId, call) {
      let after: number[] = [];
      for (;;) {
        const rows: { created_at: SqlInteger; number: SqlInteger; body: string }[] = await db.read(
          `SELECT created_at, number, body
             FROM @tasks
            WHERE tenant_id = ? AND session_id = ? ${after.length > 0 ? 'AND (created_at, number) > (?, ?)' : ''}
            ORDER BY created_at, number
            LIMIT ${PAGE}`,
          [tenantId, sessionId, ...after],
          call,
        );
        if (rows.length > 0) yield rows.map((row) => row.body);
        if (rows.length < PAGE) return;
        const last = rows.at(-1)!;
        after = [integerOf(last.created_at), integerOf(last.number)];
      }
    },
  };
}
