/**
 * Bytes in tables, as chunks of the upload that stored them. No transaction stays open while waiting for the source:
 * each chunk is written separately, and the upload becomes a blob in the transaction that writes the reference.
 */
import { randomUUID } from 'node:crypto';
import {
  type ChunkRange,
  corruptValue,
  type EngineCall,
  type StagedBytes,
  sumBytes,
  sumInteger,
  sumNames,
} from '@tidemark/core/engine';
import { NOW, type SqlDatabase, type SqlTransaction } from '../database.ts';
import { saveBlob } from './blob-rows.ts';
import { putReference } from './references.ts';

const ADD_CHUNK = 'INSERT INTO @artifact_chunks (tenant_id, upload_id, part, bytes, sum) VALUES (?, ?, ?, ?, ?)';

/** Storing the same bytes again repairs altered chunks. Equal chunks are not rewritten. */
const MEND_CHUNK = `
  INSERT INTO @artifact_chunks AS stored (tenant_id, upload_id, part, bytes, sum) VALUES (?, ?, 0, ?, ?)
  ON CONFLICT (tenant_id, upload_id, part) DO UPDATE SET bytes = excluded.bytes, sum = excluded.sum
  WHERE stored.bytes <> excluded.bytes OR stored.sum IS NULL OR stored.sum <> excluded.sum`;

const BEGIN = `
  INSERT INTO @artifact_uploads (tenant_id, upload_id, renewed_at) VALUES (?, ?, ${NOW}) RETURNING upload_id`;

const RENEW = `
  UPDATE @artifact_uploads SET renewed_at = ${NOW} WHERE tenant_id = ? AND upload_id = ? RETURNING upload_id`;

const END = 'DELETE FROM @artifact_uploads WHERE tenant_id = ? AND upload_id = ? RETURNING upload_id';

const CHUNK = 'SELECT bytes, sum FROM @artifact_chunks WHERE tenant_id = ? AND upload_id = ? AND part = ?';

/** Stages bytes of at most one chunk in memory, to be stored with their reference. */
export function stageSmall(db: SqlDatabase, tenantId: string, bytes: Uint8Array | undefined): StagedBytes {
  return {
    async refer(row, call) {
      const blob = {
        sha256: row.sha256,
        sizeBytes: bytes?.length ?? 0,
        place: 'table',
        uploadId: randomUUID(),
      } as const;
      await db.write(async (tx) => {
        const uploadId = await saveBlob(tx, tenantId, blob);
        if (bytes && uploadId !== null) {
          await tx.all(MEND_CHUNK, [tenantId, uploadId, bytes, chunkSum(tenantId, uploadId, 0, bytes)]);
        }
        await putReference(tx, tenantId, row);
      }, call);
      return true;
    },
    discard: async () => {},
  };
}

/** Writes the bytes of a source chunk by chunk. Keeps nothing if the source fails. */
export async function stageInChunks(
  db: SqlDatabase,
  tenantId: string,
  chunks: AsyncIterable<Uint8Array>,
  call: EngineCall,
): Promise<StagedBytes> {
  const uploadId = randomUUID();
  let [part, sizeBytes] = [0, 0];
  let isSwept = false;
  let isReferred = false;
  const discard = async (call: EngineCall) => {
    if (!isReferred) await db.write((tx) => removeUpload(tx, tenantId, uploadId), call);
  };
  try {
    for await (const bytes of chunks) {
      // Reads the source to its end even after a sweep, because its hash is known only then.
      isSwept ||= !(await db.write((tx) => addChunk(tx, tenantId, uploadId, part, bytes), call));
      part++;
      sizeBytes += bytes.length;
    }
  } catch (error) {
    // A sweep removes the upload if this fails.
    await discard(call).catch(() => {});
    throw error;
  }
  return {
    async refer(row, call) {
      const blob = { sha256: row.sha256, sizeBytes, place: 'table', uploadId } as const;
      isReferred = await db.write(async (tx) => {
        if (isSwept || (await tx.all(END, [tenantId, uploadId])).length === 0) return false;
        // Another client may be reading the bytes that are already stored, so those stay and ours are removed.
        if ((await saveBlob(tx, tenantId, blob)) !== uploadId) await removeChunks(tx, tenantId, uploadId);
        await putReference(tx, tenantId, row);
        return true;
      }, call);
      return isReferred;
    },
    discard,
  };
}

/** Adds a chunk and renews the upload. Returns false when a sweep has removed the upload and its earlier chunks. */
async function addChunk(
  tx: SqlTransaction,
  tenantId: string,
  uploadId: string,
  part: number,
  bytes: Uint8Array,
): Promise<boolean> {
  if ((await tx.all(part === 0 ? BEGIN : RENEW, [tenantId, uploadId])).length === 0) return false;
  await tx.all(ADD_CHUNK, [tenantId, uploadId, part, bytes, chunkSum(tenantId, uploadId, part, bytes)]);
  return true;
}

function chunkSum(tenantId: string, uploadId: string, part: number, bytes: Uint8Array): number {
  return sumBytes(bytes, sumInteger(part, sumNames(['chunk', tenantId, uploadId])));
}

/** Yields the chunks of a range of an upload, each read on demand and compared with its checksum. */
export async function* readChunks(
  db: SqlDatabase,
  tenantId: string,
  uploadId: string,
  { from, to }: ChunkRange,
  call: EngineCall,
): AsyncGenerator<Uint8Array> {
  for (let part = from; part < to; part++) {
    const [row] = await db.read<{ bytes: Uint8Array; sum: number | null }>(CHUNK, [tenantId, uploadId, part], call);
    if (!row) return;
    if (row.sum !== null && row.sum !== chunkSum(tenantId, uploadId, part, row.bytes))
      throw corruptValue('artifact chunk', String(part));
    yield row.bytes;
  }
}

export async function removeChunks(tx: SqlTransaction, tenantId: string, uploadId: string): Promise<void> {
  await tx.all('DELETE FROM @artifact_chunks WHERE tenant_id = ? AND upload_id = ?', [tenantId, uploadId]);
}

/** Removes uploads that crashes have left behind. */
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

/** Removes every upload of a tenant, whether in progress or left behind. */
export async function removeUploads(db: SqlDatabase, tenantId: string, call: EngineCall): Promise<void> {
  const sql = 'SELECT upload_id FROM @artifact_uploads WHERE tenant_id = ?';
  for (const { upload_id } of await db.read<{ upload_id: string }>(sql, [tenantId], call)) {
    await db.write((tx) => removeUpload(tx, tenantId, upload_id), call);
  }
}

/** Removes an upload only while its row exists, that is, before it becomes a blob. */
async function removeUpload(tx: SqlTransaction, tenantId: string, uploadId: string): Promise<void> {
  if ((await tx.all(END, [tenantId, uploadId])).length > 0) await removeChunks(tx, tenantId, uploadId);
}
