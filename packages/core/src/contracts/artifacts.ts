/** Artifacts: bytes and long texts kept beside the log, each reference in a scope of its own (AGT-11). */
import type { CallOptions, Duration, JsonObject, Page, PageOptions } from './common.ts';

/** Whose artifact it is; an absent part means that it belongs to none in particular. */
export interface ArtifactScope {
  tenantId?: string | null;
  userId?: string | null;
  sessionId?: string | null;
  traceId?: string | null;
}

/** A reference to stored bytes. */
export interface ArtifactRef {
  id: string;
  mimeType: string | null;
  sizeBytes: number;
  filename: string | null;
  /** Hex. */
  sha256: string;
  scope: ArtifactScope;
  namespace: string | null;
  source: JsonObject;
  createdAt: string;
  expiresAt: string | null;
}

/** How to store an artifact. */
export interface PutArtifactOptions extends CallOptions {
  mimeType?: string;
  filename?: string;
  scope?: ArtifactScope;
  namespace?: string;
  source?: JsonObject;
  /** Default: the store's retention; `null` keeps it for ever. */
  ttl?: Duration | null;
}

/** Who asks: with a scope, only artifacts whose scope agrees in every given part exist for the caller. */
export interface ArtifactAccess extends CallOptions {
  scope?: ArtifactScope;
}

/** How long and how much is kept. */
export interface ArtifactRetention {
  /** Default 1 hour. */
  ttlMs: number | null;
  maxArtifactBytes: number;
  maxSessionBytes: number;
  maxTraceBytes: number;
  maxTraceCount: number;
  maxSessionCount: number;
  /** What to do when a limit of a session or trace is reached: drop the least recently used, the oldest, or refuse. */
  strategy: 'lru' | 'fifo' | 'none';
}

/** Bytes by reference. */
export interface ArtifactStore {
  /** Storing the same bytes in the same scope and namespace again gives the same reference. */
  putBytes(bytes: Uint8Array, options?: PutArtifactOptions): Promise<ArtifactRef>;
  putText(text: string, options?: PutArtifactOptions): Promise<ArtifactRef>;
  /** For large ones: never holds the whole in memory. */
  putStream(chunks: AsyncIterable<Uint8Array>, options?: PutArtifactOptions): Promise<ArtifactRef>;
  /** `null` when unknown, expired or out of scope. */
  get(id: string, access?: ArtifactAccess): Promise<Uint8Array | null>;
  getStream(id: string, access?: ArtifactAccess): Promise<AsyncIterable<Uint8Array> | null>;
  getRef(id: string, access?: ArtifactAccess): Promise<ArtifactRef | null>;
  exists(id: string, access?: ArtifactAccess): Promise<boolean>;
  /** Removes the reference; tells whether there was one. */
  delete(id: string, access?: ArtifactAccess): Promise<boolean>;
  /** References whose scope agrees in every given part, in order of ids; an unscoped one fails every given part. */
  list(scope?: ArtifactScope, options?: PageOptions): Promise<Page<ArtifactRef>>;
  /** Removes expired references and, after a grace period, bytes no reference names. */
  sweep(options?: CallOptions & { grace?: Duration }): Promise<{ references: number; blobs: number; bytes: number }>;
}
