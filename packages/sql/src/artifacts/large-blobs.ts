/** The port for bytes outside the database, such as a directory next to it. */
import type { BlobSource, ChunkRange } from '@tidemark/core/engine';

/** Bytes that are stored in a file, or similar, but are not visible yet. */
export interface StagedBlob {
  sizeBytes: number;
  /** A checksum of each 256 KiB, four bytes each. Stored in the row of the blob. */
  sums: Uint8Array;
  /**
   * Makes the bytes durable under their hash, replacing the same bytes if present. Returns false when the staged bytes
   * are gone. Called inside a transaction that holds the row of the blob.
   */
  place(tenantId: string): Promise<boolean>;
  /** Removes the bytes unless they were placed. */
  discard(): Promise<void>;
}

/**
 * Storage for blobs of more than one chunk (256 KiB), such as a directory next to the database. Only for databases with
 * one write transaction at a time, because bytes are stored and removed inside transactions, and a put and a removal
 * must not overlap.
 */
export interface LargeBlobs {
  /** Reads the source to its end. Keeps nothing if the source fails. */
  stage(source: BlobSource): Promise<StagedBlob>;
  /**
   * Returns the chunks of a range, or `null` when the bytes are missing. With `sums`, only bytes that match them are
   * returned.
   */
  get(
    tenantId: string,
    sha256: string,
    sums: Uint8Array | null,
    range: ChunkRange,
  ): Promise<AsyncIterable<Uint8Array> | null>;
  /** Removes the bytes if there are any. Called inside the transaction that removes the row of the blob. */
  remove(tenantId: string, sha256: string): Promise<void>;
  /** Removes files that crashes have left behind and that are older than this. */
  removeLeft(olderThanMs: number): Promise<void>;
}
