/**
 * Removes unreferenced bytes. The transaction that looks for references also removes the row. It removes bytes in a
 * directory before it commits. A crash leaves at most an unreferenced row without bytes, which the next put fills or
 * the next sweep removes.
 */
import type { ArtifactMatch, EngineCall } from '@tidemark/core/engine';
import type { SqlDatabase } from '../database.ts';
import { ANY_AGE, lockBlobs, removeUnreferenced, unreferencedBlobs } from './blob-rows.ts';
import type { LargeBlobs } from './large-blobs.ts';
import { referenceConditions } from './references.ts';
import { removeChunks, removeUploads } from './uploads.ts';

const REMOVE_REFERENCES = `
  DELETE FROM @artifacts WHERE tenant_id = ? AND id IN (SELECT id FROM @artifacts WHERE tenant_id = ? LIMIT ?)
  RETURNING id`;

/** The time that an erasure sets on bytes it has released. A put of the same bytes sets a new time. */
const RELEASED = 0;

/** Removes the bytes of a hash if they are unreferenced and old enough. Returns whether it removed them. */
export function removeBytes(
  db: SqlDatabase,
  largeBlobs: LargeBlobs | undefined,
  { tenantId, sha256, graceMs }: { tenantId: string; sha256: string; graceMs: number },
  call: EngineCall,
): Promise<boolean> {
  return db.write(async (tx) => {
    const removed = await removeUnreferenced(db, tx, tenantId, sha256, graceMs);
    if (removed === null) return false;
    if (removed.uploadId !== null) await removeChunks(tx, tenantId, removed.uploadId);
    else await largeBlobs?.remove(tenantId, sha256);
    return true;
  }, call);
}

/** Removes some references of a tenant and returns how many. Once none are left, removes all bytes and uploads. */
export async function eraseArtifacts(
  db: SqlDatabase,
  largeBlobs: LargeBlobs | undefined,
  tenantId: string,
  limit: number,
  call: EngineCall,
): Promise<number> {
  const removed = await db.write((tx) => tx.all(REMOVE_REFERENCES, [tenantId, tenantId, limit]), call);
  if (removed.length > 0) return removed.length;
  for await (const { sha256 } of unreferencedBlobs(db, tenantId, ANY_AGE, call))
    await removeBytes(db, largeBlobs, { tenantId, sha256, graceMs: ANY_AGE }, call);
  await removeUploads(db, tenantId, call);
  return 0;
}

/**
 * Removes some matching references, then the bytes that only they referenced. Returns how many references were removed.
 */
export async function eraseReferences(
  db: SqlDatabase,
  largeBlobs: LargeBlobs | undefined,
  { tenantId, match, limit }: { tenantId: string; match: ArtifactMatch; limit: number },
  call: EngineCall,
): Promise<number> {
  const removed = await db.write(async (tx) => {
    const { where, params } = referenceConditions(tenantId, match);
    const choice = `SELECT id, sha256 FROM @artifacts WHERE ${where} ORDER BY id LIMIT ?`;
    const found = await tx.all<{ id: string; sha256: string }>(choice, [...params, limit]);
    if (found.length === 0) return 0;
    // Locks blobs before references, in the same order as puts, to avoid deadlocks.
    await lockBlobs(db, tx, tenantId, [...new Set(found.map(({ sha256 }) => sha256))]);
    const gone = `DELETE FROM @artifacts WHERE tenant_id = ? AND id IN (${found.map(() => '?').join(', ')}) RETURNING sha256`;
    const rows = await tx.all<{ sha256: string }>(gone, [tenantId, ...found.map(({ id }) => id)]);
    const hashes = [...new Set(rows.map(({ sha256 }) => sha256))];
    if (hashes.length > 0) await tx.all(releaseSql(hashes.length), [RELEASED, tenantId, ...hashes]);
    return rows.length;
  }, call);
  await removeReleased(db, largeBlobs, tenantId, call);
  return removed;
}

/** Removes bytes that were released by this erasure or by an interrupted one. */
async function removeReleased(
  db: SqlDatabase,
  largeBlobs: LargeBlobs | undefined,
  tenantId: string,
  call: EngineCall,
): Promise<void> {
  const sql = 'SELECT sha256 FROM @artifact_blobs WHERE tenant_id = ? AND stored_at = ?';
  for (const { sha256 } of await db.read<{ sha256: string }>(sql, [tenantId, RELEASED], call))
    await removeBytes(db, largeBlobs, { tenantId, sha256, graceMs: 0 }, call);
}

const releaseSql = (hashes: number) => `
  UPDATE @artifact_blobs AS blob SET stored_at = ?
  WHERE tenant_id = ? AND sha256 IN (${Array.from({ length: hashes }, () => '?').join(', ')}) AND NOT EXISTS (
    SELECT 1 FROM @artifacts WHERE artifacts.tenant_id = blob.tenant_id AND artifacts.sha256 = blob.sha256
  )`;
