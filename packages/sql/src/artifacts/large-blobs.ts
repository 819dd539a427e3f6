/** The port for bytes outside the database, such as a directory beside it. */
import type { BlobSource } from '@tidemark/core/engine';

/** Bytes in a file, or the like, that cannot be found yet. */
export interface StagedBlob {
  sizeBytes: number;
  /** A checksum of each 256 KiB, four bytes each; kept with the row of the blob. */
  sums: Uint8Array;
  /**
   * Makes them durable under their hash, replacing the same bytes if they are there; returns false when the staged bytes
   * are gone. Called inside a transaction that holds the row of the blob.
   */
  place(tenantId: string): Promise<boolean>;
  /** Removes them if they were not placed. */
  discard(): Promise<void>;
}

/**
 * Where blobs of more than one chunk (256 KiB) are kept, such as a directory beside the database. Only for databases whose
 * write transactions exclude each other: bytes appear and go inside them, so that no put and removal ever overlap.
 */
export interface LargeBlobs {
  /** Reads the source to its end; when it fails, nothing is kept. */
  stage(source: BlobSource): Promise<StagedBlob>;
  /** The bytes; `null` when there are none. With `sums` none that does not match them. */
  get(tenantId: string, sha256: string, sums: Uint8Array | null): Promise<AsyncIterable<Uint8Array> | null>;
  /** Removes the bytes for good, if there are any. Called inside the transaction that removes the row of the blob. */
  remove(tenantId: string, sha256: string): Promise<void>;
  /** Removes what crashes have left behind, when it is older than this. */
  removeLeft(olderThanMs: number): Promise<void>;
}
