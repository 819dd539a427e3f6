/** Memory in SQL: a version that grows by 1; the row remembers what its last requests were answered (AGT-5, GEN-8). */
import { type MemoryEngine, REMEMBERED_REQUESTS } from '@tidemark/core/engine';
import { NOW, type SqlDatabase } from '../database.ts';
import { keyRange } from '../ranges.ts';
import { integerOf, type SqlInteger } from '../values.ts';

/** The version that each of the last requests was given, oldest first. */
type Requests = [requestId: string, version: number][];

interface ListedRow {
  key: string;
  version: SqlInteger;
  updated_at: SqlInteger;
}

/** Conditional on the version that was read: where rows are locked, an absent one is not. */
const SAVE = `
  INSERT INTO @memory_states AS stored (tenant_id, key, version, updated_at, requests, state)
  VALUES (?, ?, ?, ${NOW}, ?, ?)
  ON CONFLICT (tenant_id, key) DO UPDATE SET
    version    = excluded.version,
    updated_at = excluded.updated_at,
    requests   = excluded.requests,
    state      = excluded.state
  WHERE stored.version = ?
  RETURNING version`;

export function sqlMemory(db: SqlDatabase): MemoryEngine {
  const LOOK = `SELECT version, requests FROM @memory_states WHERE tenant_id = ? AND key = ?${db.forUpdate}`;

  return {
    save(tenantId, { key, state, ifVersion, requestId }, call) {
      return db.write(async (tx) => {
        for (;;) {
          const [row] = await tx.all<{ version: SqlInteger; requests: string }>(LOOK, [tenantId, key]);
          const requests = row ? (JSON.parse(row.requests) as Requests) : [];
          const answered = requests.find(([id]) => id === requestId);
          if (answered) return { saved: true, version: answered[1] };
          const current = row ? integerOf(row.version) : 0;
          if (ifVersion !== null && ifVersion !== current) return { saved: false, version: current };
          const version = current + 1;
          if (requestId !== null) requests.push([requestId, version]);
          const remembered = JSON.stringify(requests.slice(-REMEMBERED_REQUESTS));
          const saved = await tx.all(SAVE, [tenantId, key, version, remembered, state, current]);
          // Nothing came back: another has made the row since we looked. Now it can be locked.
          if (saved.length > 0) return { saved: true, version };
        }
      }, call);
    },

    async load(tenantId, key, call) {
      const [row] = await db.read<ListedRow & { state: string }>(
        'SELECT key, version, updated_at, state FROM @memory_states WHERE tenant_id = ? AND key = ?',
        [tenantId, key],
        call,
      );
      return row ? { ...listedOf(row), state: row.state } : null;
    },

    async list(tenantId, { prefix, after, limit }, call) {
      const range = keyRange('key', prefix, after);
      const rows = await db.read<ListedRow>(
        `SELECT key, version, updated_at FROM @memory_states WHERE tenant_id = ? AND ${range.sql} ORDER BY key LIMIT ?`,
        [tenantId, ...range.params, limit],
        call,
      );
      return rows.map(listedOf);
    },

    delete(tenantId, { key, ifVersion }, call) {
      return db.write(async (tx) => {
        const [row] = await tx.all<{ version: SqlInteger }>(LOOK, [tenantId, key]);
        const version = row ? integerOf(row.version) : 0;
        if (!row || (ifVersion !== null && ifVersion !== version)) return { deleted: false, version };
        await tx.all('DELETE FROM @memory_states WHERE tenant_id = ? AND key = ?', [tenantId, key]);
        return { deleted: true, version };
      }, call);
    },
  };
}

function listedOf(row: ListedRow) {
  return { key: row.key, version: integerOf(row.version), updatedAt: integerOf(row.updated_at) };
}
