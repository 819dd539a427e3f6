/** The port an artifact engine implements: references in scopes, and bytes by their hash. */
import type { EngineCall } from './runs.ts';

/** A reference as an engine keeps it; times are milliseconds. */
export interface ArtifactRow {
  id: string;
  sha256: string;
  sizeBytes: number;
  mimeType: string | null;
  filename: string | null;
  userId: string | null;
  sessionId: string | null;
  traceId: string | null;
  /** As the caller named it; the tenant that owns the row is given beside it. */
  scopeTenantId: string | null;
  namespace: string | null;
  /** JSON text. */
  source: string;
  createdAt: number;
  accessedAt: number;
  expiresAt: number | null;
}

/** Parts of a scope to match; absent parts match anything. */
export interface ArtifactMatch {
  scopeTenantId?: string;
  userId?: string;
  sessionId?: string;
  traceId?: string;
}

/** Bytes on their way in, at most 256 KiB a chunk. */
export interface BlobSource {
  chunks: AsyncIterable<Uint8Array>;
  /** Hex; known once all chunks were read. */
  sha256(): string;
}

export interface ArtifactEngine {
  /** Upserts the reference; the bytes must be stored already. */
  putRef(tenantId: string, row: ArtifactRow, call: EngineCall): Promise<void>;
  getRef(tenantId: string, id: string, call: EngineCall): Promise<ArtifactRow | null>;
  /** Notes a read, for `lru`. */
  touchRef(tenantId: string, id: string, at: number, call: EngineCall): Promise<void>;
  deleteRef(tenantId: string, id: string, call: EngineCall): Promise<boolean>;
  /** By id, whether expired or not. */
  listRefs(
    tenantId: string,
    match: ArtifactMatch,
    range: { after: string | null; limit: number },
    call: EngineCall,
  ): Promise<ArtifactRow[]>;
  /** Stores bytes under their hash; storing the same again renews their age and nothing else. */
  putBlob(tenantId: string, source: BlobSource, call: EngineCall): Promise<void>;
  getBlob(tenantId: string, sha256: string, call: EngineCall): Promise<AsyncIterable<Uint8Array> | null>;
  /**
   * Removes references that expired before `now` and blobs older than `graceMs` that no reference names: of one
   * tenant, or with `null` of all.
   */
  sweep(
    tenantId: string | null,
    now: number,
    graceMs: number,
    call: EngineCall,
  ): Promise<{ references: number; blobs: number; bytes: number }>;
}
