/** Quarantined runs in SQL: one row per run, changed under a lock from the entry that the caller saw. */
import {
  type CurrentQuarantines,
  type EngineCall,
  entryAfter,
  type FoundDamage,
  type QuarantineEngine,
  type QuarantineQuery,
  type RunKey,
  type StoredQuarantine,
} from '@tidemark/core/engine';
import type { SqlDatabase, SqlTransaction, SqlValue } from './database.ts';
import { integerOf, type SqlInteger } from './values.ts';

const COLUMNS = 'tenant_id, run_id, from_seq, reason, found_at, state, release, notice';

const SELECT_RUN = `SELECT ${COLUMNS} FROM @run_quarantines WHERE tenant_id = ? AND run_id = ?`;

const OF_TENANT = ' AND tenant_id = ?';

const SELECT_QUARANTINED = `SELECT ${COLUMNS} FROM @run_quarantines WHERE state = 'quarantined'`;

const SELECT_CURRENT = `SELECT ${COLUMNS} FROM @run_quarantines WHERE (state = 'quarantined' OR release > ?)`;

const SELECT_NEWEST = 'SELECT max(release) AS newest FROM @run_quarantines WHERE release > 0';

const INSERT = `
  INSERT INTO @run_quarantines (${COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant_id, run_id) DO NOTHING RETURNING 1 AS done`;

const UPDATE = `
  UPDATE @run_quarantines SET from_seq = ?, reason = ?, found_at = ?, state = ?, release = ?, notice = ?
  WHERE tenant_id = ? AND run_id = ? RETURNING 1 AS done`;

const DELETE = 'DELETE FROM @run_quarantines WHERE tenant_id = ? AND run_id = ? RETURNING 1 AS done';

interface Row {
  tenant_id: string;
  run_id: string;
  from_seq: SqlInteger;
  reason: string;
  found_at: SqlInteger;
  state: StoredQuarantine['state'];
  release: SqlInteger;
  notice: SqlInteger;
}

/**
 * `takeNumber` takes the next number of a release or a quarantine inside a transaction. Concurrent callers wait until
 * that transaction is committed, so that a number becomes visible only after all lower ones.
 */
export function sqlQuarantines(db: SqlDatabase, takeNumber: (tx: SqlTransaction) => Promise<number>): QuarantineEngine {
  const lock = async (tx: SqlTransaction, run: RunKey) => {
    const [row] = await tx.all<Row>(SELECT_RUN + db.forUpdate, [run.tenantId, run.runId]);
    return row ? entryOf(row) : null;
  };

  const find = async (run: RunKey, call: EngineCall): Promise<StoredQuarantine | null> => {
    const [row] = await db.read<Row>(SELECT_RUN, [run.tenantId, run.runId], call);
    return row ? entryOf(row) : null;
  };

  return {
    async current(tenantId: string | null, afterRelease: number | null, call: EngineCall): Promise<CurrentQuarantines> {
      const [confined, tenant] = tenantId === null ? ['', []] : [OF_TENANT, [tenantId]];
      if (afterRelease !== null) {
        const rows = await db.read<Row>(SELECT_CURRENT + confined, [afterRelease, ...tenant], call);
        return { newest: afterRelease, entries: rows.map(entryOf) };
      }
      // Reads the number first, so that a run released between the two reads counts as released later and is returned
      // again.
      const [found] = await db.read<{ newest: SqlInteger | null }>(SELECT_NEWEST + confined, tenant, call);
      const rows = await db.read<Row>(SELECT_QUARANTINED + confined, tenant, call);
      return { newest: integerOf(found?.newest ?? 0), entries: rows.map(entryOf) };
    },

    async list({ tenantId, state, after, limit }: QuarantineQuery, call: EngineCall): Promise<StoredQuarantine[]> {
      const conditions = ['1 = 1'];
      const params: SqlValue[] = [];
      const where = (condition: string, ...values: SqlValue[]) => {
        conditions.push(condition);
        params.push(...values);
      };
      if (tenantId !== undefined) where('tenant_id = ?', tenantId);
      if (state !== undefined) where('state = ?', state);
      if (after !== undefined) where('(tenant_id, run_id) > (?, ?)', after.tenantId, after.runId);
      const sql = `
        SELECT ${COLUMNS} FROM @run_quarantines WHERE ${conditions.join(' AND ')} ORDER BY tenant_id, run_id LIMIT ?`;
      return (await db.read<Row>(sql, [...params, limit], call)).map(entryOf);
    },

    find,

    async put(run: RunKey, damage: FoundDamage, call: EngineCall) {
      for (;;) {
        const known = await find(run, call);
        const outcome = await db.write(async (tx) => {
          // Take the number before locking the row, as a release does, and only if it is likely to be used.
          const number = known?.state === 'quarantined' ? null : await takeNumber(tx);
          const stored = await lock(tx, run);
          if (number === null && stored?.state !== 'quarantined') return null;
          const { entry, isNew, isChanged } = entryAfter(run, stored, damage, number ?? 0);
          const written = !isChanged || (await tx.all(stored ? UPDATE : INSERT, valuesOf(entry, stored))).length > 0;
          return written ? { entry, isNew } : null;
        }, call);
        // Another process has written, released or removed the entry since it was read.
        if (outcome) return outcome;
      }
    },

    release(seen: StoredQuarantine, call: EngineCall): Promise<StoredQuarantine | null> {
      return db.write(async (tx) => {
        // Take the number before locking the row, so that concurrent releases take locks in the same order.
        const release = await takeNumber(tx);
        const stored = await lock(tx, seen);
        if (!stored || !isSame(stored, seen)) return null;
        const entry: StoredQuarantine = { ...stored, state: 'released', release };
        await tx.all(UPDATE, valuesOf(entry, stored));
        return entry;
      }, call);
    },

    async remove(run: RunKey, call: EngineCall): Promise<void> {
      await db.write((tx) => removeQuarantine(tx, run), call);
    },
  };
}

/** Removes the entry of a run inside the transaction that removes or restores the run. */
export async function removeQuarantine(tx: SqlTransaction, run: RunKey): Promise<void> {
  await tx.all(DELETE, [run.tenantId, run.runId]);
}

/** Returns the parameters of INSERT, or of UPDATE when there is a row. */
function valuesOf(entry: StoredQuarantine, stored: StoredQuarantine | null): SqlValue[] {
  const { tenantId, runId, fromSeq, reason, at, state, release, notice } = entry;
  const key = [tenantId, runId];
  const values = [fromSeq, reason, at, state, release, notice];
  return stored ? [...values, ...key] : [...key, ...values];
}

function isSame(a: StoredQuarantine, b: StoredQuarantine): boolean {
  return a.fromSeq === b.fromSeq && a.at === b.at && a.state === b.state && a.release === b.release;
}

function entryOf(row: Row): StoredQuarantine {
  return {
    tenantId: row.tenant_id,
    runId: row.run_id,
    fromSeq: integerOf(row.from_seq),
    reason: row.reason,
    at: integerOf(row.found_at),
    state: row.state,
    release: integerOf(row.release),
    notice: integerOf(row.notice),
  };
}
