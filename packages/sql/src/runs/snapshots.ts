/** Stored snapshots: one row a run, never an older one over a newer. */
import type { EngineCall, RunKey, StoredSnapshot } from '@tidemark/core/engine';
import { NOW, type SqlTransaction } from '../database.ts';
import type { SqlRunDatabase, SqlRunTransaction } from './database.ts';

type Database = SqlRunDatabase<SqlRunTransaction>;

const SELECT = 'SELECT last_event_seq, rewrites, snapshot_data FROM @run_snapshots WHERE run_id = ? AND tenant_id = ?';

/**
 * An older snapshot never overwrites a newer one (RUN-13), and none is stored of a run that was removed or rewritten since.
 * Where rows are locked the head is, so that neither can happen before the snapshot is there to be removed or overwritten.
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

/** An update, since an insert would find nothing in its way once another transaction has dropped the snapshot. */
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

  /** Stores a snapshot over an older one, or only over `over`; over none for `null`. Returns whether it was stored. */
  async save(
    { runId, tenantId }: RunKey,
    { status, lastEventSeq, rewrites, body }: StoredSnapshot & { status: string },
    call: EngineCall,
    over: StoredSnapshot | null | undefined,
  ): Promise<boolean> {
    const place = [runId, tenantId];
    const [sql, params] = over
      ? [
          this.#replace,
          [
            ...place,
            status,
            lastEventSeq,
            rewrites,
            body,
            ...place,
            rewrites,
            rewrites,
            lastEventSeq,
            over.rewrites,
          ].concat(over.lastEventSeq, over.body),
        ]
      : [
          this.#upsert,
          [...place, tenantId, runId, status, lastEventSeq, rewrites, body, rewrites, over === undefined ? 1 : 0],
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
