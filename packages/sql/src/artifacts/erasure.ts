/** Takes references and bytes of artifacts away for good, wherever the bytes are. */
import type { EngineCall } from '@tidemark/core/engine';
import type { LargeBlobs } from '../artifacts.ts';
import type { SqlDatabase } from '../database.ts';
import { removeChunks, removeUploads } from './uploads.ts';

const REMOVE_REFERENCES = `
  DELETE FROM @artifacts WHERE tenant_id = ? AND id IN (SELECT id FROM @artifacts WHERE tenant_id = ? LIMIT ?)
  RETURNING id`;

const REMOVE_BLOB = `
  DELETE FROM @artifact_blobs WHERE tenant_id = ? AND sha256 = ? AND stored_at < ? RETURNING upload_id`;

/** Removes some references; once none is left, all bytes and uploads. Gives how many references. */
export async function eraseArtifacts(
  db: SqlDatabase,
  largeBlobs: LargeBlobs | undefined,
  tenantId: string,
  limit: number,
  call: EngineCall,
): Promise<number> {
  const removed = await db.write((tx) => tx.all(REMOVE_REFERENCES, [tenantId, tenantId, limit]), call);
  if (removed.length > 0) return removed.length;
  for (;;) {
    const sql = 'SELECT sha256 FROM @artifact_blobs WHERE tenant_id = ? LIMIT ?';
    const blobs = await db.read<{ sha256: string }>(sql, [tenantId, limit], call);
    for (const { sha256 } of blobs)
      await eraseBytes(db, largeBlobs, { tenantId, sha256, storedBefore: Number.MAX_SAFE_INTEGER }, call);
    if (blobs.length < limit) break;
  }
  await removeUploads(db, tenantId, call);
  return 0;
}

/** Removes the bytes of a hash with their row; tells whether they were there and old enough. */
export function eraseBytes(
  db: SqlDatabase,
  largeBlobs: LargeBlobs | undefined,
  { tenantId, sha256, storedBefore }: { tenantId: string; sha256: string; storedBefore: number },
  call: EngineCall,
): Promise<boolean> {
  const removeRow = () =>
    db.write(async (tx) => {
      const params = [tenantId, sha256, storedBefore];
      const [row] = await tx.all<{ upload_id: string | null }>(REMOVE_BLOB, params);
      if (row?.upload_id) await removeChunks(tx, tenantId, row.upload_id);
      return row !== undefined;
    }, call);
  return largeBlobs ? largeBlobs.remove(tenantId, sha256, removeRow) : removeRow();
}
