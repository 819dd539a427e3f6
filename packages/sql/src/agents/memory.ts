/**
 * Memory in SQL: a version that grows by 1, and the ids of requests that changed it (AGT-5, GEN-8). The row of a
 * deleted state stays for a day without content, so that its version numbers continue.
 */
import {
  corruptValue,
  Damage,
  type MemoryChange,
  type MemoryEngine,
  type MemoryRequest,
  memoryRequestName,
  memoryRequestsAfter,
  sumInteger,
  sumNames,
  VERSION_KEPT_MS,
  versionOfRequest,
} from '@tidemark/core/engine';
import { NOW, type SqlDatabase, type SqlTransaction } from '../database.ts';
import { keyRange } from '../ranges.ts';
import { answerOf, keepAnswers } from '../requests.ts';
import { removeInSteps } from '../statements.ts';
import { integerOf, integerOrNull, type SqlInteger } from '../values.ts';

const REMOVE_AT_ONCE = 100;

interface ListedRow {
  key: string;
  version: SqlInteger;
  updated_at: SqlInteger;
  sum: number | null;
}

/** A memory state as read in the transaction, deleted or not. */
interface Seen {
  isThere: boolean;
  /** Version of the last save; 0 when the key is unknown. */
  version: number;
  requests: MemoryRequest[];
  now: number;
}

const OF_STATE = 'WHERE tenant_id = ? AND key = ?';

/** Conditional on the version that was read: a row lock does not cover an absent row. */
const SAVE = `
  INSERT INTO @memory_states AS stored (tenant_id, key, version, updated_at, sum, requests, state)
  VALUES (?, ?, ?, ?, ?, ?, ?)
  ON CONFLICT (tenant_id, key) DO UPDATE SET
    version    = excluded.version,
    updated_at = excluded.updated_at,
    sum        = excluded.sum,
    requests   = excluded.requests,
    state      = excluded.state,
    deleted_at = NULL
  WHERE stored.version = ?
  RETURNING version`;

/**
 * Sets the state to `null`, so that versions of the library that do not know `deleted_at` also read the row as `null`.
 */
const DELETE = `
  UPDATE @memory_states SET updated_at = ?, sum = ?, requests = ?, state = 'null', deleted_at = ${NOW} ${OF_STATE}`;

/** Repeats the condition outside the subquery, because a state may be saved again after the subquery was evaluated. */
const REMOVE_DELETED = `
  DELETE FROM @memory_states
  WHERE deleted_at <= ${NOW} - ${VERSION_KEPT_MS} AND (tenant_id, key) IN (
    SELECT tenant_id, key FROM @memory_states
    WHERE deleted_at <= ${NOW} - ${VERSION_KEPT_MS} ORDER BY deleted_at LIMIT ?
  )
  RETURNING key`;

export function sqlMemory(db: SqlDatabase): MemoryEngine {
  const LOOK = `SELECT version, requests, deleted_at, ${NOW} AS now FROM @memory_states ${OF_STATE}${db.forUpdate}`;

  const look = async (tx: SqlTransaction, tenantId: string, key: string): Promise<Seen> => {
    const [row] = await tx.all<{
      version: SqlInteger;
      requests: string;
      deleted_at: SqlInteger | null;
      now: SqlInteger;
    }>(LOOK, [tenantId, key]);
    if (!row) {
      const [clock] = await tx.all<{ now: SqlInteger }>(`SELECT ${NOW} AS now`, []);
      return { isThere: false, version: 0, requests: [], now: integerOf(clock!.now) };
    }
    const requests = JSON.parse(row.requests) as MemoryRequest[];
    const [version, now] = [integerOf(row.version), integerOf(row.now)];
    return { isThere: integerOrNull(row.deleted_at) === null, version, requests, now };
  };

  return {
    save(tenantId, memory, call) {
      const { key, state, expectedVersion } = memory;
      return db.write(async (tx) => {
        for (;;) {
          const seen = await look(tx, tenantId, key);
          const answered = await answerTo(tx, tenantId, memory, seen);
          if (answered !== undefined) return { saved: true, version: answered };
          const current = seen.isThere ? seen.version : 0;
          if (expectedVersion !== null && expectedVersion !== current) return { saved: false, version: current };
          const version = seen.version + 1;
          const requests = await requestsAfter(tx, tenantId, memory, seen, version);
          const sum = sumOf(tenantId, key, version, seen.now);
          const saved = await tx.all(SAVE, [tenantId, key, version, seen.now, sum, requests, state, seen.version]);
          // No row returned: another process has inserted the row since it was read. It can be locked now.
          if (saved.length > 0) return { saved: true, version };
        }
      }, call);
    },

    async load(tenantId, key, call) {
      const [row] = await db.read<ListedRow & { state: string }>(
        `SELECT key, version, updated_at, sum, state FROM @memory_states ${OF_STATE} AND deleted_at IS NULL`,
        [tenantId, key],
        call,
      );
      return row ? { ...listedOf(tenantId, row), state: row.state } : null;
    },

    async list(tenantId, { prefix, after, limit, withDeleted }, call) {
      const range = keyRange('key', prefix, after);
      const rows = await db.read<ListedRow>(
        `SELECT key, version, updated_at, sum FROM @memory_states
          WHERE tenant_id = ? AND ${range.sql}${withDeleted ? '' : ' AND deleted_at IS NULL'} ORDER BY key LIMIT ?`,
        [tenantId, ...range.params, limit],
        call,
      );
      const damage = new Damage();
      const listed = rows.flatMap((row) => damage.attempt(() => [listedOf(tenantId, row)]) ?? []);
      damage.report(call.damaged);
      return listed;
    },

    delete(tenantId, memory, call) {
      const { key, expectedVersion } = memory;
      return db.write(async (tx) => {
        const seen = await look(tx, tenantId, key);
        const answered = await answerTo(tx, tenantId, memory, seen);
        if (answered !== undefined) return { deleted: true, version: answered };
        const { isThere, version } = seen;
        if (!isThere) return { deleted: false, version: 0 };
        if (expectedVersion !== null && expectedVersion !== version) return { deleted: false, version };
        const requests = await requestsAfter(tx, tenantId, memory, seen, version);
        await tx.all(DELETE, [seen.now, sumOf(tenantId, key, version, seen.now), requests, tenantId, key]);
        return { deleted: true, version };
      }, call);
    },

    async erase(tenantId, key, call) {
      const sql = `DELETE FROM @memory_states ${OF_STATE} RETURNING deleted_at`;
      const [row] = await db.write((tx) => tx.all<{ deleted_at: SqlInteger | null }>(sql, [tenantId, key]), call);
      return row !== undefined && row.deleted_at === null;
    },

    removeExpired(limit, call) {
      return removeInSteps(limit, REMOVE_AT_ONCE, async (most) => {
        return (await db.write((tx) => tx.all(REMOVE_DELETED, [most]), call)).length;
      });
    },
  };
}

/** Returns the version that a request produced, or `undefined` if the request is unknown. */
async function answerTo(
  tx: SqlTransaction,
  tenantId: string,
  { key, requestId, requestIsNew }: MemoryChange,
  { requests }: Seen,
): Promise<number | undefined> {
  if (requestIsNew) return undefined;
  const version = versionOfRequest(requests, requestId);
  if (version !== undefined) return version;
  const answer = await answerOf(tx, tenantId, memoryRequestName(tenantId, key, requestId).key);
  return answer === null ? undefined : integerOf(answer);
}

/** Returns the `requests` column with one more request. Requests that no longer fit are kept in their own table. */
async function requestsAfter(
  tx: SqlTransaction,
  tenantId: string,
  { key, requestId }: MemoryChange,
  seen: Seen,
  version: number,
): Promise<string> {
  const { held, left } = memoryRequestsAfter(seen.requests, [requestId, version, seen.now], seen.now);
  const answers = left.map(([id, given]) => ({ id: memoryRequestName(tenantId, key, id).key, answer: String(given) }));
  if (answers.length > 0) await keepAnswers(tx, tenantId, answers);
  return JSON.stringify(held);
}

/** Returns the checksum of the columns other than the state, which has its own checksum. */
function sumOf(tenantId: string, key: string, version: number, updatedAt: number): number {
  return sumInteger(updatedAt, sumInteger(version, sumNames(['memory', tenantId, key])));
}

function listedOf(tenantId: string, row: ListedRow) {
  const [version, updatedAt] = [integerOf(row.version), integerOf(row.updated_at)];
  if (row.sum !== null && row.sum !== sumOf(tenantId, row.key, version, updatedAt))
    throw corruptValue('memory', row.key);
  return { key: row.key, version, updatedAt };
}
