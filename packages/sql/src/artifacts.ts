/**
 * The artifact engine of SQL backends (AGT-11): references and small bytes in tables, large bytes beside the database
 * where there is such a place. Bytes are stored before their reference and swept by mark and age.
 */
import { TidemarkError } from '@tidemark/core';
import type { ArtifactEngine, BlobSource, EngineCall } from '@tidemark/core/engine';
import { findBlob, removeUnnamed, saveBlob, unnamedBlobs } from './artifacts/blob-rows.ts';
import { sqlReferences } from './artifacts/references.ts';
import { readChunks, removeChunks, removeLeftUploads, storeInChunks, storeSmall } from './artifacts/uploads.ts';
import type { SqlDatabase } from './database.ts';

/** Bytes that are written, but not to be found yet. */
export interface StagedBlob {
  sizeBytes: number;
  /** Makes them found under their hash; bytes that are there already are replaced by the same. */
  commit(tenantId: string): Promise<void>;
  /** Removes them if they were not committed. */
  discard(): Promise<void>;
}

/** Where blobs of more than one chunk (256 KiB) are kept, such as a directory beside the database. */
export interface LargeBlobs {
  /** Reads the source to its end; when it fails, nothing is kept. */
  stage(source: BlobSource): Promise<StagedBlob>;
  /** The bytes, unverified; `null` when there are none. */
  get(tenantId: string, sha256: string): Promise<AsyncIterable<Uint8Array> | null>;
  /**
   * Sets the bytes aside, asks whether they may go, and then removes them or puts them back: bytes that are stored
   * anew meanwhile are never lost. Tells whether they went.
   */
  remove(tenantId: string, sha256: string, mayGo: () => Promise<boolean>): Promise<boolean>;
  /** Removes what crashes have left behind, when it is older than this. */
  removeLeft(olderThanMs: number): Promise<void>;
}

export function sqlArtifacts(db: SqlDatabase, largeBlobs?: LargeBlobs): ArtifactEngine {
  const { removeExpired, ...references } = sqlReferences(db);

  const storeLarge = async (blobs: LargeBlobs, tenantId: string, source: BlobSource, call: EngineCall) => {
    const staged = await blobs.stage(source);
    try {
      const blob = {
        sha256: source.sha256(),
        sizeBytes: staged.sizeBytes,
        place: 'directory',
        uploadId: null,
      } as const;
      // The row first: from then on no sweep removes the bytes, whenever they arrive.
      const uploadId = await db.write((tx) => saveBlob(tx, tenantId, blob), call);
      if (uploadId === null) await staged.commit(tenantId);
    } finally {
      await staged.discard();
    }
  };

  return {
    ...references,

    async putBlob(tenantId, source, call) {
      const chunks = source.chunks[Symbol.asyncIterator]();
      const first = await chunks.next();
      const second = first.done ? first : await chunks.next();
      if (second.done) return storeSmall(db, tenantId, source.sha256(), first.value ?? undefined, call);
      const whole = {
        chunks: continued([first.value as Uint8Array, second.value], chunks),
        sha256: () => source.sha256(),
      };
      return largeBlobs ? storeLarge(largeBlobs, tenantId, whole, call) : storeInChunks(db, tenantId, whole, call);
    },

    async getBlob(tenantId, sha256, call) {
      const blob = await findBlob(db, tenantId, sha256, call);
      if (blob === null) return null;
      if (blob.uploadId !== null) return readChunks(db, tenantId, blob.uploadId, call);
      if (!largeBlobs) throw noPlace(sha256);
      return largeBlobs.get(tenantId, sha256);
    },

    async sweep(only, now, graceMs, call) {
      const swept = { references: await removeExpired(only, now, call), blobs: 0, bytes: 0 };
      for await (const { tenantId, sha256, sizeBytes, uploadId } of unnamedBlobs(db, only, graceMs, call)) {
        const removeRow = () =>
          db.write(async (tx) => {
            const removed = await removeUnnamed(tx, tenantId, sha256, graceMs);
            if (removed && uploadId !== null) await removeChunks(tx, tenantId, uploadId);
            return removed;
          }, call);
        const isLarge = uploadId === null && largeBlobs !== undefined;
        if (!(await (isLarge ? largeBlobs.remove(tenantId, sha256, removeRow) : removeRow()))) continue;
        swept.blobs++;
        swept.bytes += sizeBytes;
      }
      await removeLeftUploads(db, only, graceMs, call);
      if (only === null) await largeBlobs?.removeLeft(graceMs);
      return swept;
    },
  };
}

/** Chunks that were read already, then the rest; ends the source when the reader stops early. */
async function* continued(read: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* read;
  yield* { [Symbol.asyncIterator]: () => rest };
}

function noPlace(sha256: string): TidemarkError {
  return new TidemarkError(
    'STORAGE_ERROR',
    `The bytes of SHA-256 ${sha256} are in a directory that this store was opened without; open it with its directory`,
  );
}
