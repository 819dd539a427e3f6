/** The port of an artifact engine: references in scopes, and bytes addressed by their hash. */
import type { DownloadHeaders } from './byte-store.ts';
import type { EngineCall } from './call.ts';

/** A stored reference. Times are milliseconds. */
export interface ArtifactRow {
  id: string;
  sha256: string;
  sizeBytes: number;
  mimeType: string | null;
  filename: string | null;
  userId: string | null;
  sessionId: string | null;
  traceId: string | null;
  /** The tenant in the caller's scope. The tenant that owns the row is passed separately. */
  scopeTenantId: string | null;
  namespace: string | null;
  /** JSON text. */
  source: string;
  createdAt: number;
  accessedAt: number;
  expiresAt: number | null;
}

/** Parts of a scope to match. Absent parts match anything. */
export interface ArtifactMatch {
  scopeTenantId?: string;
  userId?: string;
  sessionId?: string;
  traceId?: string;
  /** Only references with neither session nor trace. */
  isUnscoped?: true;
}

/** The size of each chunk of a blob except the last. */
export const CHUNK_BYTES = 256 * 1024;

/** The chunks to read, by index: `from` is inclusive, `to` is exclusive. */
export interface ChunkRange {
  from: number;
  to: number;
}

export const ALL_CHUNKS: ChunkRange = { from: 0, to: Number.POSITIVE_INFINITY };

/** Bytes to store, in chunks of `CHUNK_BYTES`; only the last may be smaller. */
export interface BlobSource {
  chunks: AsyncIterable<Uint8Array>;
  /** Hex. Known once all chunks are read. */
  sha256(): string;
}

/** Bytes that were read from their source and have no reference yet. */
export interface StagedBytes {
  /**
   * Stores the bytes under their hash, once per tenant, and upserts the reference. As soon as the reference can be
   * read, its bytes can be read too. Nothing may remove them while a reference to them exists, including an erasure or
   * sweep that is already running.
   *
   * Returns false and stores nothing when the staged bytes were swept because the caller waited too long.
   */
  refer(row: ArtifactRow, call: EngineCall): Promise<boolean>;
  /** Removes the staged bytes unless a reference uses them. */
  discard(call: EngineCall): Promise<void>;
}

/** The state of a reference when a removal was decided. */
export type SeenReference = Pick<ArtifactRow, 'createdAt' | 'accessedAt'>;

/** Counts of the stored artifacts of a tenant. */
export interface StoredTotals {
  references: number;
  blobs: number;
  bytes: number;
}

export interface ArtifactEngine {
  /**
   * Reads a source to its end and stages its bytes. When the source fails, keeps nothing and rejects with that error.
   */
  stage(tenantId: string, source: BlobSource, call: EngineCall): Promise<StagedBytes>;
  /** Returns a reference, expired or not, or `null` when it is absent. */
  getRef(tenantId: string, id: string, call: EngineCall): Promise<ArtifactRow | null>;
  /** Records the time of a read, for `lru`. */
  touchRef(tenantId: string, id: string, at: number, call: EngineCall): Promise<void>;
  /** Removes a reference and returns whether it did. With `seen`, keeps a reference that was stored or read since. */
  deleteRef(tenantId: string, id: string, seen: SeenReference | null, call: EngineCall): Promise<boolean>;
  /** Lists references by id, including expired ones. */
  listRefs(
    tenantId: string,
    match: ArtifactMatch,
    range: { after: string | null; limit: number },
    call: EngineCall,
  ): Promise<ArtifactRow[]>;
  /**
   * Returns the bytes stored under a hash as they were stored, chunk by chunk, or `null` when they are missing. Reads
   * only the chunks of the range, and compares each with its checksum if it has one.
   */
  getBlob(
    tenantId: string,
    sha256: string,
    range: ChunkRange,
    call: EngineCall,
  ): Promise<AsyncIterable<Uint8Array> | null>;
  /**
   * Returns a URL that serves the bytes stored under a hash to anyone until it expires, or `null` if only the engine
   * can serve them.
   */
  downloadUrl?(
    tenantId: string,
    sha256: string,
    headers: DownloadHeaders,
    expiresInMs: number,
    call: EngineCall,
  ): Promise<string | null>;
  /**
   * Counts the references of a tenant that have not expired by `now`, and the blobs with their stored bytes, including
   * blobs without a reference.
   */
  totals(tenantId: string, now: number, call: EngineCall): Promise<StoredTotals>;
  /**
   * Removes up to `limit` matching references, then the bytes without another reference. Returns the number of
   * references: 0 only when nothing is left, not even bytes left by an interrupted erasure of the tenant.
   */
  eraseRefs(tenantId: string, match: ArtifactMatch, limit: number, call: EngineCall): Promise<number>;
  /**
   * Removes references that expired before `now`, and unreferenced blobs older than `graceMs`. `null` sweeps all
   * tenants.
   */
  sweep(
    tenantId: string | null,
    now: number,
    graceMs: number,
    call: EngineCall,
  ): Promise<{ references: number; blobs: number; bytes: number }>;
}
