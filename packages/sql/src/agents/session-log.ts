/** Updates or steering in SQL, numbered per session in commit order. The first write of an id wins (AGT-7). */
import type { SessionLogEngine } from '@tidemark/core/engine';
import { NOW, type SqlDatabase, type SqlSignals } from '../database.ts';
import { integerOf, type SqlInteger } from '../values.ts';
import { enterSession } from './sessions.ts';

/** The table of the items and the name of its id column. */
interface SessionLogTable {
  table: 'updates' | 'steering';
  id: 'update_id' | 'event_id';
}

export function sqlSessionLog(db: SqlDatabase, { table, id }: SessionLogTable, signals: SqlSignals): SessionLogEngine {
  const APPEND = `
    INSERT INTO @${table} (tenant_id, session_id, seq, ${id}, task_id, body, created_at)
    VALUES (?, ?, ?, ?, ?, ?, ${NOW})
    ON CONFLICT (tenant_id, session_id, ${id}) DO NOTHING`;
  const FIND = `SELECT seq FROM @${table} WHERE tenant_id = ? AND session_id = ? AND ${id} = ?`;
  /** Ids contain no NUL, so topics are unambiguous. */
  const topicOf = (tenantId: string, sessionId: string) => [table, tenantId, sessionId].join('\0');

  return {
    async append(tenantId, item, call) {
      const { sessionId, taskId, body } = item;
      await db.write(async (tx) => {
        const seq = await enterSession(tx, tenantId, sessionId);
        await tx.all(APPEND, [tenantId, sessionId, seq, item.id, taskId, body]);
      }, call);
      signals.notify(topicOf(tenantId, sessionId));
    },

    async page(tenantId, sessionId, { taskId, sinceId, limit }, call) {
      const [cursor] =
        sinceId === null ? [] : await db.read<{ seq: SqlInteger }>(FIND, [tenantId, sessionId, sinceId], call);
      const after = cursor ? integerOf(cursor.seq) : 0;
      const items = await db.read<{ id: string; body: string }>(
        `SELECT ${id} AS id, body
           FROM @${table}
          WHERE tenant_id = ? AND session_id = ? AND seq > ? ${taskId === null ? '' : 'AND task_id = ?'}
          ORDER BY seq
          LIMIT ?`,
        [tenantId, sessionId, after, ...(taskId === null ? [] : [taskId]), limit],
        call,
      );
      return { items, cursorFound: sinceId === null || cursor !== undefined };
    },

    wait(tenantId, sessionId, call) {
      return signals.wait(topicOf(tenantId, sessionId), call);
    },
  };
}
