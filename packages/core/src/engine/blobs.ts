/**
 * The blobs primitive: bytes under their SHA-256, once per tenant. A blob has an age, which storing it again
 * renews; removal is conditional on that age, so that a sweep never takes bytes somebody has just stored.
 */
import type { BlobSource } from './artifacts.ts';
import type { EngineCall } from './runs.ts';

/** What is known of a blob without its bytes. */
export interface BlobInfo {
  tenantId: string;
  /** Hex. */
  sha256: string;
  sizeBytes: number;
  /** When it was last stored, in milliseconds. */
  renewedAt: number;
}

export interface Blobs {
  /**
   * Reads the source to its end and keeps the bytes under its hash; of bytes that are there already only the age is
   * renewed. When the source fails, nothing is kept and the failure is passed on.
   */
  put(tenantId: string, source: BlobSource, call: EngineCall): Promise<void>;
  /** The bytes in chunks; `null` when there are none of this hash. */
  get(tenantId: string, sha256: string, call: EngineCall): Promise<AsyncIterable<Uint8Array> | null>;
  /** Blobs of all tenants in byte order of (tenant, hash), after one of them. */
  list(after: { tenantId: string; sha256: string } | null, limit: number, call: EngineCall): Promise<BlobInfo[]>;
  /** Removes what still tells of a tenant whose blobs are all removed. */
  clear(tenantId: string, call: EngineCall): Promise<void>;
  /** Removes a blob in one step if it was last stored before a time; tells whether it did. */
  remove(tenantId: string, sha256: string, renewedBefore: number, call: EngineCall): Promise<boolean>;
}
