/**
 * The blobs primitive: bytes under their SHA-256, once per tenant. A blob has a version, which changes whenever the bytes
 * are stored again; removal names the version it saw, so that it never takes bytes somebody has just stored.
 */
import type { BlobSource } from './artifacts.ts';
import type { EngineCall } from './call.ts';

/** Blob metadata. */
export interface BlobInfo {
  tenantId: string;
  /** Hex. */
  sha256: string;
  sizeBytes: number;
  /** When it was last stored, in milliseconds of the engine's clock. */
  renewedAt: number;
  /** Differs for every time the bytes were stored. */
  version: string;
}

/** Bytes that were read from their source, but are not to be found yet. */
export interface StagedBlob {
  /**
   * Stores the bytes under their hash; of bytes that are stored already only age and version change. May be called
   * again. Returns false, with nothing stored, when the staged bytes are gone.
   */
  keep(call: EngineCall): Promise<boolean>;
  /** Removes the staged bytes if they were not used. */
  discard(call: EngineCall): Promise<void>;
}

export interface Blobs {
  /** Reads the source to its end. When it fails, nothing is kept and the failure is passed on. */
  stage(tenantId: string, source: BlobSource, call: EngineCall): Promise<StagedBlob>;
  /** The bytes in chunks; `null` when there are none of this hash. */
  get(tenantId: string, sha256: string, call: EngineCall): Promise<AsyncIterable<Uint8Array> | null>;
  /** Metadata of the hashes that are stored. */
  info(tenantId: string, hashes: readonly string[], call: EngineCall): Promise<BlobInfo[]>;
  /** Blobs of all tenants in byte order of (tenant, hash), after one of them. */
  list(after: { tenantId: string; sha256: string } | null, limit: number, call: EngineCall): Promise<BlobInfo[]>;
  /** Removes what still tells of a tenant whose blobs are all removed. */
  clear(tenantId: string, call: EngineCall): Promise<void>;
  /** Removes a blob in one step if it still has this version; returns whether it did. */
  remove(blob: Pick<BlobInfo, 'tenantId' | 'sha256' | 'version'>, call: EngineCall): Promise<boolean>;
}
