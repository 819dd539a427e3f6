/** Artifact references in SQL: rows in scopes, found by session or trace through an index (AGT-11). */
import type { ArtifactEngine, ArtifactMatch, ArtifactRow, EngineCall } from '@tidemark/core/engine';
import type { SqlDatabase, SqlTransaction, SqlValue } from '../database.ts';
import { removeInSteps } from '../statements.ts';
import { integerOf, integerOrNull, type SqlInteger } from '../values.ts';

const REMOVE_AT_ONCE = 200;

/** The columns of a reference after its tenant and id, each with its property. */
const COLUMNS = {
  sha256: 'sha256',
  size_bytes: 'sizeBytes',
  mime_type: 'mimeType',
  filename: 'filename',
  scope_tenant_id: 'scopeTenantId',
  user_id: 'userId',
  session_id: 'sessionId',
  trace_id: 'traceId',
  namespace: 'namespace',
  source: 'source',
  created_at: 'createdAt',
  accessed_at: 'accessedAt',
  expires_at: 'expiresAt',
} as const satisfies Record<string, keyof ArtifactRow>;

const NAMES = Object.keys(COLUMNS) as (keyof typeof COLUMNS)[];

type StoredReference = { id: string } & Record<(typeof NAMES)[number], SqlValue>;

const PUT = `
  INSERT INTO @artifacts (tenant_id, id, ${NAMES.join(', ')})
  VALUES (?, ?, ${NAMES.map(() => '?').join(', ')})
  ON CONFLICT (tenant_id, id) DO UPDATE SET ${NAMES.map((name) => `${name} = excluded.${name}`).join(', ')}`;

const SELECT = `SELECT id, ${NAMES.join(', ')} FROM @artifacts`;

/**
 * Repeats the condition outside the subquery, because a reference may be stored again after the subquery was evaluated.
 */
const REMOVE_EXPIRED = `
  DELETE FROM @artifacts
  WHERE expires_at <= ? AND (tenant_id, id) IN (
    SELECT tenant_id, id FROM @artifacts WHERE expires_at <= ? AND tenant_id = coalesce(?, tenant_id) ORDER BY expires_at LIMIT ?
  )
  RETURNING id`;

const MATCHED: Record<Exclude<keyof ArtifactMatch, 'isUnscoped'>, string> = {
  scopeTenantId: 'scope_tenant_id',
  userId: 'user_id',
  sessionId: 'session_id',
  traceId: 'trace_id',
};

type References = Pick<ArtifactEngine, 'getRef' | 'touchRef' | 'deleteRef' | 'listRefs'> & {
  /** Removes references that expired by `now` and returns how many. `null` selects all tenants. */
  removeExpired(only: string | null, now: number, call: EngineCall): Promise<number>;
};

/** Upserts a reference. The same transaction stores or renews its bytes. */
export async function putReference(tx: SqlTransaction, tenantId: string, row: ArtifactRow): Promise<void> {
  await tx.all(PUT, [tenantId, row.id, ...NAMES.map((name) => row[COLUMNS[name]])]);
}

/** The WHERE clause for the references of a tenant that match. */
export function referenceConditions(
  tenantId: string,
  { isUnscoped, ...match }: ArtifactMatch,
): { where: string; params: string[] } {
  const parts = Object.entries(match).filter(([, value]) => value !== undefined) as [keyof typeof match, string][];
  const unscoped = isUnscoped ? ['session_id IS NULL AND trace_id IS NULL'] : [];
  const where = ['tenant_id = ?', ...parts.map(([part]) => `${MATCHED[part]} = ?`), ...unscoped].join(' AND ');
  return { where, params: [tenantId, ...parts.map(([, value]) => value)] };
}

export function sqlReferences(db: SqlDatabase): References {
  return {
    async getRef(tenantId, id, call) {
      const [row] = await db.read<StoredReference>(`${SELECT} WHERE tenant_id = ? AND id = ?`, [tenantId, id], call);
      return row ? referenceOf(row) : null;
    },

    async touchRef(tenantId, id, at, call) {
      const sql = 'UPDATE @artifacts SET accessed_at = ? WHERE tenant_id = ? AND id = ? AND accessed_at < ?';
      await db.write((tx) => tx.all(sql, [at, tenantId, id, at]), call);
    },

    async deleteRef(tenantId, id, seen, call) {
      const unchanged = seen === null ? '' : ' AND created_at = ? AND accessed_at = ?';
      const sql = `DELETE FROM @artifacts WHERE tenant_id = ? AND id = ?${unchanged} RETURNING id`;
      const params = [tenantId, id, ...(seen === null ? [] : [seen.createdAt, seen.accessedAt])];
      return (await db.write((tx) => tx.all(sql, params), call)).length > 0;
    },

    async listRefs(tenantId, match, { after, limit }, call) {
      const { where, params } = referenceConditions(tenantId, match);
      const sql = `${SELECT} WHERE ${where} AND id > ? ORDER BY id LIMIT ?`;
      const rows = await db.read<StoredReference>(sql, [...params, after ?? '', limit], call);
      return rows.map(referenceOf);
    },

    removeExpired(only, now, call) {
      return removeInSteps(Number.POSITIVE_INFINITY, REMOVE_AT_ONCE, async (most) => {
        return (await db.write((tx) => tx.all(REMOVE_EXPIRED, [now, now, only, most]), call)).length;
      });
    },
  };
}

function referenceOf(row: StoredReference): ArtifactRow {
  const reference = Object.fromEntries(NAMES.map((name) => [COLUMNS[name], row[name]]));
  return {
    ...(reference as unknown as ArtifactRow),
    id: row.id,
    sizeBytes: integerOf(row.size_bytes as SqlInteger),
    createdAt: integerOf(row.created_at as SqlInteger),
    accessedAt: integerOf(row.accessed_at as SqlInteger),
    expiresAt: integerOrNull(row.expires_at as SqlInteger | null),
  };
}
