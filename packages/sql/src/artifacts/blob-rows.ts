/** The row of a blob: where its bytes are, and when they were last stored. A sweep skips recently stored blobs. */
import type { EngineCall } from '@tidemark/core/engine';
import { NOW, type SqlDatabase, type SqlTransaction } from '../database.ts';
import { integerOf, type SqlInteger } from '../values.ts';

export interface BlobRow {
  sha256: string;
  sizeBytes: number;
  place: 'table' | 'directory';
  /** The upload whose chunks hold the bytes; `null` for bytes in the directory. */
  uploadId: string | null;
  /** Checksums of bytes in the directory; chunks have their own. */
  sums?: Uint8Array | null;
}

/** A grace period that makes every blob old enough, to remove unreferenced bytes of any age. */
export const ANY_AGE = -(2 ** 50);

/** Bytes that are already stored stay where they are; only their time is renewed. */
const SAVE = `
  INSERT INTO @artifact_blobs AS stored (tenant_id, sha256, size_bytes, stored_at, place, upload_id, sums)
  VALUES (?, ?, ?, ${NOW}, ?, ?, ?)
  ON CONFLICT (tenant_id, sha256) DO UPDATE SET stored_at = excluded.stored_at,
    sums = CASE WHEN stored.place = excluded.place THEN excluded.sums ELSE stored.sums END
  RETURNING upload_id`;

const IS_UNNAMED = `
  stored_at < ${NOW} - ? AND NOT EXISTS (
    SELECT 1 FROM @artifacts WHERE artifacts.tenant_id = blob.tenant_id AND artifacts.sha256 = blob.sha256
  )`;

/** Saves or renews a blob and locks its row; returns the upload that holds its bytes. */
export async function saveBlob(tx: SqlTransaction, tenantId: string, blob: BlobRow): Promise<string | null> {
  const params = [tenantId, blob.sha256, blob.sizeBytes, blob.place, blob.uploadId, blob.sums ?? null];
  return (await tx.all<{ upload_id: string | null }>(SAVE, params))[0]!.upload_id;
}

export async function findBlob(
  db: SqlDatabase,
  tenantId: string,
  sha256: string,
  call: EngineCall,
): Promise<{ uploadId: string | null; sums: Uint8Array | null } | null> {
  const sql = 'SELECT upload_id, sums FROM @artifact_blobs WHERE tenant_id = ? AND sha256 = ?';
  const [row] = await db.read<{ upload_id: string | null; sums: Uint8Array | null }>(sql, [tenantId, sha256], call);
  return row ? { uploadId: row.upload_id, sums: row.sums } : null;
}

/** Locks the rows of some hashes, always in the same order, and returns those that exist. */
export async function lockBlobs(
  db: SqlDatabase,
  tx: SqlTransaction,
  tenantId: string,
  hashes: readonly string[],
): Promise<Pick<BlobRow, 'sha256' | 'uploadId'>[]> {
  const sql = `
    SELECT sha256, upload_id FROM @artifact_blobs WHERE tenant_id = ? AND sha256 IN (${hashes.map(() => '?').join(', ')})
    ORDER BY sha256${db.forUpdate}`;
  const rows = await tx.all<{ sha256: string; upload_id: string | null }>(sql, [tenantId, ...hashes]);
  return rows.map(({ sha256, upload_id }) => ({ sha256, uploadId: upload_id }));
}

/** Yields unreferenced blobs that were not stored within the grace period, in pages. `null` selects all tenants. */
export async function* unreferencedBlobs(
  db: SqlDatabase,
  only: string | null,
  graceMs: number,
  call: EngineCall,
): AsyncGenerator<BlobRow & { tenantId: string }> {
  const PAGE = 200;
  let after = ['', ''];
  for (;;) {
    const rows: {
      tenant_id: string;
      sha256: string;
      size_bytes: SqlInteger;
      place: BlobRow['place'];
      upload_id: string | null;
    }[] = await db.read(
      `SELECT tenant_id, sha256, size_bytes, place, upload_id
           FROM @artifact_blobs AS blob
          WHERE (tenant_id, sha256) > (?, ?) AND tenant_id = coalesce(?, tenant_id) AND ${IS_UNNAMED}
          ORDER BY tenant_id, sha256
          LIMIT ${PAGE}`,
      [...after, only, graceMs],
      call,
    );
    for (const { tenant_id, sha256, size_bytes, place, upload_id } of rows) {
      yield { tenantId: tenant_id, sha256, sizeBytes: integerOf(size_bytes), place, uploadId: upload_id };
    }
    if (rows.length < PAGE) return;
    after = [rows.at(-1)!.tenant_id, rows.at(-1)!.sha256];
  }
}

/**
 * Removes the row unless it is referenced or was just stored, and returns where its bytes were. The lock is a separate
 * statement, so that the next statement sees the reference of a put that was about to commit.
 */
export async function removeUnreferenced(
  db: SqlDatabase,
  tx: SqlTransaction,
  tenantId: string,
  sha256: string,
  graceMs: number,
): Promise<Pick<BlobRow, 'uploadId'> | null> {
  await lockBlobs(db, tx, tenantId, [sha256]);
  const sql = `
    DELETE FROM @artifact_blobs AS blob WHERE tenant_id = ? AND sha256 = ? AND ${IS_UNNAMED} RETURNING upload_id`;
  const [row] = await tx.all<{ upload_id: string | null }>(sql, [tenantId, sha256, graceMs]);
  return row ? { uploadId: row.upload_id } : null;
}
