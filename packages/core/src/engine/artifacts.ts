/** The port an artifact engine implements: references in scopes, and bytes by their hash. */
import type { EngineCall } from './call.ts';

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

/** Bytes that were read from their source and wait for the reference that names them. */
export interface StagedBytes {
  /**
   * Stores the bytes under their hash, once per tenant, and upserts the reference. From the moment the reference can be
   * read its bytes can be read, and nothing removes them while a reference names them: an erasure or sweep that runs at
   * the same time gives way, wherever it was.
   *
   * Returns false, with nothing stored, when the staged bytes were swept because the caller paused too long.
   */
  refer(row: ArtifactRow, call: EngineCall): Promise<boolean>;
  /** Removes the staged bytes unless a reference took them. */
  discard(call: EngineCall): Promise<void>;
}

/** A reference as it was when somebody decided to remove it. */
export type SeenReference = Pick<ArtifactRow, 'createdAt' | 'accessedAt'>;

export interface ArtifactEngine {
  /** Reads a source to its end and sets its bytes aside. When the source fails, nothing is kept and the failure is passed on. */
  stage(tenantId: string, source: BlobSource, call: EngineCall): Promise<StagedBytes>;
  getRef(tenantId: string, id: string, call: EngineCall): Promise<ArtifactRow | null>;
  /** Notes a read, for `lru`. */
  touchRef(tenantId: string, id: string, at: number, call: EngineCall): Promise<void>;
  /** Removes a reference, with `seen` only if it was neither stored nor read since; returns whether it did. */
  deleteRef(tenantId: string, id: string, seen: SeenReference | null, call: EngineCall): Promise<boolean>;
  /** By id, whether expired or not. */
  listRefs(
    tenantId: string,
    match: ArtifactMatch,
    range: { after: string | null; limit: number },
    call: EngineCall,
  ): Promise<ArtifactRow[]>;
  getBlob(tenantId: string, sha256: string, call: EngineCall): Promise<AsyncIterable<Uint8Array> | null>;
  /**
   * Removes up to `limit` references that match, then the bytes that no other reference names. Returns the number of
   * references; 0 when nothing is left, not even bytes that an interrupted erasure of the tenant left behind.
   */
  eraseRefs(tenantId: string, match: ArtifactMatch, limit: number, call: EngineCall): Promise<number>;
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
