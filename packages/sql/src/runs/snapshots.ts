/** Stored snapshots: one row per run. An older snapshot never replaces a newer one. */
import type { EngineCall, RunKey, StoredSnapshot } from '@tidemark/core/engine';
import { NOW, type SqlTransaction } from '../database.ts';
import type { SqlRunDatabase, SqlRunTransaction } from './database.ts';

type Database = SqlRunDatabase<SqlRunTransaction>;

const SELECT = 'SELECT last_event_seq, rewrites, snapshot_data FROM @run_snapshots WHERE run_id = ? AND tenant_id = ?';

/**
 * Skips a snapshot that is older than the stored one (RUN-13), or whose run has been removed or rewritten since the
 * fold. Locks the head on engines with row locks, so that a removal or rewrite runs after this write and finds the
 * snapshot.
 */
const upsertSql = ({ forUpdate, json }: Database) => `
  WITH head AS (SELECT removed, rewrites FROM @runs WHERE run_id = ? AND tenant_id = ?${forUpdate})
  INSERT INTO @run_snapshots AS stored (tenant_id, run_id, status, last_event_seq, rewrites, snapshot_data, projected_at)
  SELECT CAST(? AS text), CAST(? AS text), CAST(? AS text), CAST(? AS bigint), CAST(? AS bigint), ${json}, ${NOW}
  WHERE NOT EXISTS (SELECT 1 FROM head WHERE removed IS NOT NULL OR rewrites <> ?)
  ON CONFLICT (run_id, tenant_id) DO UPDATE
  SET status = excluded.status, last_event_seq = excluded.last_event_seq, rewrites = excluded.rewrites,
      snapshot_data = excluded.snapshot_data, projected_at = excluded.projected_at
  WHERE CAST(? AS integer) = 1
    AND (excluded.rewrites, excluded.last_event_seq) >= (stored.rewrites, stored.last_event_seq)`;

/** An UPDATE, because an INSERT would not conflict once another transaction has removed the snapshot. */
const replaceSql = ({ forUpdate, json }: Database) => `
  WITH head AS (SELECT removed, rewrites FROM @runs WHERE run_id = ? AND tenant_id = ?${forUpdate})
  UPDATE @run_snapshots AS stored
  SET status = ?, last_event_seq = CAST(? AS bigint), rewrites = CAST(? AS bigint), snapshot_data = ${json}, projected_at = ${NOW}
  WHERE run_id = ? AND tenant_id = ?
    AND NOT EXISTS (SELECT 1 FROM head WHERE removed IS NOT NULL OR rewrites <> ?)
    AND (CAST(? AS bigint), CAST(? AS bigint)) >= (stored.rewrites, stored.last_event_seq)
    AND (stored.rewrites, stored.last_event_seq, CAST(stored.snapshot_data AS text))
      = (CAST(? AS bigint), CAST(? AS bigint), CAST(? AS text))`;

const DROP = 'DELETE FROM @run_snapshots WHERE run_id = ? AND tenant_id = ? AND rewrites <= ?';

const REMOVE = 'DELETE FROM @run_snapshots WHERE run_id = ? AND tenant_id = ?';

export class SqlSnapshots {
  readonly #database: Database;
  readonly #upsert: string;
  readonly #replace: string;

  constructor(database: Database) {
    this.#database = database;
    this.#upsert = upsertSql(database);
    this.#replace = replaceSql(database);
  }

  async load({ runId, tenantId }: RunKey, call: EngineCall): Promise<StoredSnapshot | null> {
    const [row] = await this.#database.readArrays(SELECT, [runId, tenantId], call, tenantId);
    return row ? { lastEventSeq: row[0] as number, rewrites: row[1] as number, body: row[2] as string } : null;
  }

  /**
   * Stores a snapshot unless a newer one is stored, and returns whether it did. With `over`, replaces only exactly that
   * snapshot. If `over` is `null`, stores only if there is no snapshot.
   */
  async save(
    { runId, tenantId }: RunKey,
    { status, lastEventSeq, rewrites, body }: StoredSnapshot & { status: string },
    call: EngineCall,
    over: StoredSnapshot | null | undefined,
  ): Promise<boolean> {
    const key = [runId, tenantId];
    const [sql, params] = over
      ? [
          this.#replace,
          [
            ...key,
            status,
            lastEventSeq,
            rewrites,
            body,
            ...key,
            rewrites,
            rewrites,
            lastEventSeq,
            over.rewrites,
          ].concat(over.lastEventSeq, over.body),
        ]
      : [
          this.#upsert,
          [...key, tenantId, runId, status, lastEventSeq, rewrites, body, rewrites, over === undefined ? 1 : 0],
        ];
    return (await this.#database.execute(sql, params, call, tenantId)) > 0;
  }

  async drop({ runId, tenantId }: RunKey, upToRewrites: number, call: EngineCall): Promise<void> {
    await this.#database.execute(DROP, [runId, tenantId, upToRewrites], call, tenantId);
  }
}

/** Removes the snapshot of a run inside the transaction that removes or restores the run. */
export async function removeSnapshot(tx: SqlTransaction, { runId, tenantId }: RunKey): Promise<void> {
  await tx.run(REMOVE, [runId, tenantId]);
}
