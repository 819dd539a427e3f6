/**
 * The artifact engine of SQL backends (AGT-11). References and small bytes are in tables; large bytes are outside the
 * database on engines that have a directory for them. Bytes and their reference become visible in one transaction.
 */
import { TidemarkError } from '@tidemark/core';
import type { ArtifactEngine } from '@tidemark/core/engine';
import { findBlob, unreferencedBlobs } from './artifacts/blob-rows.ts';
import { stageLarge } from './artifacts/large.ts';
import type { LargeBlobs } from './artifacts/large-blobs.ts';
import { sqlReferences } from './artifacts/references.ts';
import { eraseReferences, removeBytes } from './artifacts/removal.ts';
import { readChunks, removeLeftUploads, stageInChunks, stageSmall } from './artifacts/uploads.ts';
import type { SqlDatabase } from './database.ts';
import { integerOf, type SqlInteger } from './values.ts';

const COUNT_REFERENCES = `
  SELECT count(*) AS count FROM @artifacts WHERE tenant_id = ? AND (expires_at IS NULL OR expires_at > ?)`;

const COUNT_BLOBS = `
  SELECT count(*) AS count, CAST(coalesce(sum(size_bytes), 0) AS BIGINT) AS bytes FROM @artifact_blobs
  WHERE tenant_id = ?`;

export function sqlArtifacts(db: SqlDatabase, largeBlobs?: LargeBlobs): ArtifactEngine {
  const { removeExpired, ...references } = sqlReferences(db);

  return {
    ...references,

    async stage(tenantId, source, call) {
      const chunks = source.chunks[Symbol.asyncIterator]();
      const first = await chunks.next();
      const second = first.done ? first : await chunks.next();
      if (second.done) return stageSmall(db, tenantId, first.value ?? undefined);
      const all = continued([first.value as Uint8Array, second.value], chunks);
      if (!largeBlobs) return stageInChunks(db, tenantId, all, call);
      return stageLarge(db, tenantId, await largeBlobs.stage({ chunks: all, sha256: () => source.sha256() }));
    },

    async getBlob(tenantId, sha256, range, call) {
      const blob = await findBlob(db, tenantId, sha256, call);
      if (blob === null) return null;
      if (blob.uploadId !== null) return readChunks(db, tenantId, blob.uploadId, range, call);
      if (!largeBlobs) throw noDirectory(sha256);
      return largeBlobs.get(tenantId, sha256, blob.sums, range);
    },

    async totals(tenantId, now, call) {
      const [references] = await db.read<{ count: SqlInteger }>(COUNT_REFERENCES, [tenantId, now], call);
      const [blobs] = await db.read<{ count: SqlInteger; bytes: SqlInteger }>(COUNT_BLOBS, [tenantId], call);
      return {
        references: integerOf(references!.count),
        blobs: integerOf(blobs!.count),
        bytes: integerOf(blobs!.bytes),
      };
    },

    eraseRefs(tenantId, match, limit, call) {
      return eraseReferences(db, largeBlobs, { tenantId, match, limit }, call);
    },

    async sweep(only, now, graceMs, call) {
      const swept = { references: await removeExpired(only, now, call), blobs: 0, bytes: 0 };
      for await (const { tenantId, sha256, sizeBytes } of unreferencedBlobs(db, only, graceMs, call)) {
        if (!(await removeBytes(db, largeBlobs, { tenantId, sha256, graceMs }, call))) continue;
        swept.blobs++;
        swept.bytes += sizeBytes;
      }
      await removeLeftUploads(db, only, graceMs, call);
      if (only === null) await largeBlobs?.removeLeft(graceMs);
      return swept;
    },
  };
}

/** Yields the chunks that were already read, then the rest. Closes the source when the reader stops early. */
async function* continued(read: readonly Uint8Array[], rest: AsyncIterator<Uint8Array>): AsyncGenerator<Uint8Array> {
  yield* read;
  yield* { [Symbol.asyncIterator]: () => rest };
}

function noDirectory(sha256: string): TidemarkError {
  return new TidemarkError(
    'STORAGE_ERROR',
    `The bytes of SHA-256 ${sha256} are in a directory that this store was opened without; open it with its directory`,
  );
}
