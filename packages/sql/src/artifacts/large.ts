/**
 * Bytes outside the database. The row is committed first; the bytes and the reference follow in a second transaction.
 * If a crash happens in between, a sweep finds the leftovers by their row.
 */
import type { ArtifactRow, EngineCall, StagedBytes } from '@tidemark/core/engine';
import type { SqlDatabase } from '../database.ts';
import { lockBlobs, saveBlob } from './blob-rows.ts';
import type { StagedBlob } from './large-blobs.ts';
import { putReference } from './references.ts';

export function stageLarge(db: SqlDatabase, tenantId: string, staged: StagedBlob): StagedBytes {
  const saveRow = (sha256: string, call: EngineCall) => {
    const blob = {
      sha256,
      sizeBytes: staged.sizeBytes,
      place: 'directory',
      uploadId: null,
      sums: staged.sums,
    } as const;
    return db.write((tx) => saveBlob(tx, tenantId, blob), call);
  };

  /** Returns `null` when the row was removed after it was saved. */
  const place = (row: ArtifactRow, call: EngineCall): Promise<boolean | null> =>
    db.write(async (tx) => {
      const [blob] = await lockBlobs(db, tx, tenantId, [row.sha256]);
      if (!blob) return null;
      const isInDirectory = blob.uploadId === null;
      if (isInDirectory && !(await staged.place(tenantId))) return false;
      await putReference(tx, tenantId, row);
      return true;
    }, call);

  return {
    async refer(row, call) {
      for (;;) {
        await saveRow(row.sha256, call);
        const isPlaced = await place(row, call);
        if (isPlaced !== null) return isPlaced;
      }
    },
    discard: () => staged.discard(),
  };
}
