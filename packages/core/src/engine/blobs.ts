/**
 * The blobs primitive: bytes addressed by their SHA-256, stored once per tenant. A blob has a version that changes
 * whenever the bytes are stored again. A removal names the version it saw, so it never removes bytes stored since.
 */
import type { BlobSource, ChunkRange } from './artifacts.ts';
import type { EngineCall } from './call.ts';

/** Blob metadata. */
export interface BlobInfo {
  tenantId: string;
  /** Hex. */
  sha256: string;
  sizeBytes: number;
  /** When the bytes were last stored, in milliseconds of the engine's clock. */
  renewedAt: number;
  /** Changes each time the bytes are stored. */
  version: string;
}

/** Bytes read from their source that cannot be read from the store yet. */
export interface StagedBlob {
  /**
   * Stores the bytes under their hash. If they are already stored, only their age and version change. May be called
   * more than once. Returns false and stores nothing when the staged bytes are gone.
   */
  keep(call: EngineCall): Promise<boolean>;
  /** Removes the staged bytes if they were not used. */
  discard(call: EngineCall): Promise<void>;
}

export interface Blobs {
  /** Reads the source to its end. When the source fails, keeps nothing and rejects with that error. */
  stage(tenantId: string, source: BlobSource, call: EngineCall): Promise<StagedBlob>;
  /** Returns the chunks of a range, as they were stored, or `null` when nothing is stored under this hash. */
  get(tenantId: string, sha256: string, range: ChunkRange, call: EngineCall): Promise<AsyncIterable<Uint8Array> | null>;
  /** Returns the metadata of the stored blobs among these hashes. */
  info(tenantId: string, hashes: readonly string[], call: EngineCall): Promise<BlobInfo[]>;
  /** Lists blobs of all tenants in byte order of (tenant, hash), after a given one. */
  list(after: { tenantId: string; sha256: string } | null, limit: number, call: EngineCall): Promise<BlobInfo[]>;
  /** Removes what remains of a tenant after all its blobs are removed. */
  clear(tenantId: string, call: EngineCall): Promise<void>;
  /** Removes a blob in one step if it still has this version. Returns whether it did. */
  remove(blob: Pick<BlobInfo, 'tenantId' | 'sha256' | 'version'>, call: EngineCall): Promise<boolean>;
}
