/**
 * Bytes in tables: chunks that belong to the upload that brought them. No transaction stays open while the source is
 * awaited: each chunk is written by itself, and the upload becomes a blob by the one row that names it.
 */
import { randomUUID } from 'node:crypto';
import { TidemarkError } from '@tidemark/core';
import type { EngineCall } from '@tidemark/core/engine';
import { NOW, type SqlDatabase, type SqlTransaction } from '../database.ts';
import { saveBlob } from './blob-rows.ts';

const ADD_CHUNK = 'INSERT INTO @artifact_chunks (tenant_id, upload_id, part, bytes) VALUES (?, ?, ?, ?)';

/** Altered bytes are mended by whoever stores the same anew; equal ones are left alone. */
const MEND_CHUNK = `
  INSERT INTO @artifact_chunks AS stored (tenant_id, upload_id, part, bytes) VALUES (?, ?, 0, ?)
  ON CONFLICT (tenant_id, upload_id, part) DO UPDATE SET bytes = excluded.bytes WHERE stored.bytes <> excluded.bytes`;

const RENEW = `
  INSERT INTO @artifact_uploads (tenant_id, upload_id, renewed_at) VALUES (?, ?, ${NOW})
  ON CONFLICT (tenant_id, upload_id) DO UPDATE SET renewed_at = excluded.renewed_at`;

const END = 'DELETE FROM @artifact_uploads WHERE tenant_id = ? AND upload_id = ? RETURNING upload_id';

const CHUNK = 'SELECT bytes FROM @artifact_chunks WHERE tenant_id = ? AND upload_id = ? AND part = ?';

/** Stores bytes of at most one chunk under their hash, in one step. */
export async function storeSmall(
  db: SqlDatabase,
  tenantId: string,
  sha256: string,
  bytes: Uint8Array | undefined,
  call: EngineCall,
): Promise<void> {
  const blob = { sha256, sizeBytes: bytes?.length ?? 0, place: 'table', uploadId: randomUUID() } as const;
  await db.write(async (tx) => {
    const uploadId = await saveBlob(tx, tenantId, blob);
    if (bytes && uploadId !== null) await tx.all(MEND_CHUNK, [tenantId, uploadId, bytes]);
  }, call);
}

/** Stores the bytes of a source chunk by chunk, then under their hash; when the source fails, nothing is kept. */
export async function storeInChunks(
  db: SqlDatabase,
  tenantId: string,
  source: { chunks: AsyncIterable<Uint8Array>; sha256(): string },
  call: EngineCall,
): Promise<void> {
  const uploadId = randomUUID();
  let [part, sizeBytes] = [0, 0];
  try {
    for await (const bytes of source.chunks) {
      await db.write(async (tx) => {
        await tx.all(RENEW, [tenantId, uploadId]);
        await tx.all(ADD_CHUNK, [tenantId, uploadId, part, bytes]);
      }, call);
      part++;
      sizeBytes += bytes.length;
    }
    const blob = { sha256: source.sha256(), sizeBytes, place: 'table', uploadId } as const;
    await db.write(async (tx) => {
      if ((await tx.all(END, [tenantId, uploadId])).length === 0) throw sweptUpload();
      // Bytes that are there already may be in a reader's hands: they stay, and ours go.
      if ((await saveBlob(tx, tenantId, blob)) !== uploadId) await removeChunks(tx, tenantId, uploadId);
    }, call);
  } catch (error) {
    // What cannot be removed now is removed by a sweep.
    await db.write((tx) => removeUpload(tx, tenantId, uploadId), call).catch(() => {});
    throw error;
  }
}

/** The chunks of an upload, each read when it is asked for. */
export async function* readChunks(
  db: SqlDatabase,
  tenantId: string,
  uploadId: string,
  call: EngineCall,
): AsyncGenerator<Uint8Array> {
  for (let part = 0; ; part++) {
    const [row] = await db.read<{ bytes: Uint8Array }>(CHUNK, [tenantId, uploadId, part], call);
    if (!row) return;
    yield row.bytes;
  }
}

export async function removeChunks(tx: SqlTransaction, tenantId: string, uploadId: string): Promise<void> {
  await tx.all('DELETE FROM @artifact_chunks WHERE tenant_id = ? AND upload_id = ?', [tenantId, uploadId]);
}

/** Removes what crashed uploads have left behind. */
export async function removeLeftUploads(
  db: SqlDatabase,
  only: string | null,
  graceMs: number,
  call: EngineCall,
): Promise<void> {
  const left = await db.read<{ tenant_id: string; upload_id: string }>(
    `SELECT tenant_id, upload_id FROM @artifact_uploads WHERE renewed_at < ${NOW} - ? AND tenant_id = coalesce(?, tenant_id)`,
    [graceMs, only],
    call,
  );
  for (const { tenant_id, upload_id } of left) {
    await db.write((tx) => removeUpload(tx, tenant_id, upload_id), call);
  }
}

/** Removes every upload of a tenant that is under way or was left behind. */
export async function removeUploads(db: SqlDatabase, tenantId: string, call: EngineCall): Promise<void> {
  const sql = 'SELECT upload_id FROM @artifact_uploads WHERE tenant_id = ?';
  for (const { upload_id } of await db.read<{ upload_id: string }>(sql, [tenantId], call)) {
    await db.write((tx) => removeUpload(tx, tenantId, upload_id), call);
  }
}

/** Only an upload that has not become a blob: its row is there as long as it is under way. */
async function removeUpload(tx: SqlTransaction, tenantId: string, uploadId: string): Promise<void> {
  if ((await tx.all(END, [tenantId, uploadId])).length > 0) await removeChunks(tx, tenantId, uploadId);
}

function sweptUpload(): TidemarkError {
  const message = 'The upload paused for longer than the grace period of a sweep, which removed it; store it again';
  return new TidemarkError('UNAVAILABLE', message);
}
