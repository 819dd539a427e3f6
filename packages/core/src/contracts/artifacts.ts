/** Artifacts: bytes and long texts stored outside the log. Each reference has its own scope. */
import type { CallOptions, Duration, JsonObject, Page, PageOptions } from './common.ts';

/** The owner of an artifact. Absent and `null` both mean that the part is not set. */
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
  /** The SHA-256 of the bytes, in hex. */
  sha256: string;
  scope: ArtifactScope;
  namespace: string | null;
  source: JsonObject;
  createdAt: string;
  expiresAt: string | null;
}

/** Options of calls that store an artifact. */
export interface PutArtifactOptions extends CallOptions {
  mimeType?: string;
  filename?: string;
  scope?: ArtifactScope;
  namespace?: string;
  /** Custom metadata, returned with the reference. */
  source?: JsonObject;
  /** How long the artifact is kept. Default: the store's retention. `null` keeps it for ever. */
  ttl?: Duration | null;
}

/** The scope of a caller. The caller sees only artifacts whose scope equals every part that is set. */
export interface ArtifactAccess extends CallOptions {
  scope?: ArtifactScope;
}

/** Options of `getStream`. */
export interface ReadArtifactOptions extends ArtifactAccess {
  /** The index of the first byte to read. Default 0. */
  start?: number;
  /** The index of the byte to stop before. Default: the end. May be beyond the end. */
  end?: number;
}

/** Artifact limits: how long artifacts are kept, and how many. */
export interface ArtifactRetention {
  /** Default 1 hour. `null` keeps artifacts for ever. */
  ttlMs: number | null;
  /** Default 50 MiB. */
  maxArtifactBytes: number;
  /** Default 500 MiB. */
  maxSessionBytes: number;
  /** Default 100 MiB. */
  maxTraceBytes: number;
  /** Default 100. */
  maxTraceCount: number;
  /** Default 1 000. */
  maxSessionCount: number;
  /** For the artifacts of a tenant that have neither session nor trace. Default: no limit. */
  maxUnscopedBytes: number;
  /**
   * For the artifacts of a tenant that have neither session nor trace. Default: no limit. Evicting at a limit of 1 000
   * or more also frees a 64th of that limit. On Redis and NATS, artifacts stored by version 0.1 are not counted until
   * they are stored again.
   */
  maxUnscopedCount: number;
  /**
   * The reaction when the limit of a session or trace, or of artifacts without either, is reached. `lru` removes the
   * least recently used artifacts, `fifo` the oldest, `none` refuses the new one with `LIMIT_EXCEEDED`. Default `lru`.
   */
  strategy: 'lru' | 'fifo' | 'none';
}

/**
 * Stores bytes and returns references to them.
 *
 * A call with a scope of another tenant fails with `TENANT_MISMATCH` in a view. Errors that every call can throw are
 * listed at `Store`.
 */
export interface ArtifactStore {
  /**
   * Stores bytes and returns their reference. The same bytes in the same scope and namespace get the same reference;
   * storing them again renews its expiry.
   *
   * @throws `PAYLOAD_TOO_LARGE` if there are more bytes than `maxArtifactBytes`. `LIMIT_EXCEEDED` if a limit is reached
   * (of the session, of the trace, or of artifacts with neither) and the retention strategy does not allow evicting
   * others.
   */
  putBytes(bytes: Uint8Array, options?: PutArtifactOptions): Promise<ArtifactRef>;
  /**
   * Stores a string as UTF-8 and returns its reference, as `putBytes` does. The type defaults to `text/plain`.
   *
   * @throws `PAYLOAD_TOO_LARGE`, `LIMIT_EXCEEDED`.
   *
   * @example
   * const scope = { sessionId: 's1' };
   * const { id, sizeBytes } = await store.artifacts.putText('# Report', { mimeType: 'text/markdown', scope });
   * const bytes = await store.artifacts.get(id, { scope });
   * console.log(sizeBytes, new TextDecoder().decode(bytes!)); // 8 # Report
   */
  putText(text: string, options?: PutArtifactOptions): Promise<ArtifactRef>;
  /**
   * Stores bytes from a stream and returns their reference, as `putBytes` does. Never holds all bytes in memory.
   *
   * @throws `PAYLOAD_TOO_LARGE`, `LIMIT_EXCEEDED`. `UNAVAILABLE` if a sweep removed the bytes during a long upload:
   * store them again.
   */
  putStream(chunks: AsyncIterable<Uint8Array>, options?: PutArtifactOptions): Promise<ArtifactRef>;
  /**
   * Returns the bytes of an artifact, or `null` if it is unknown, expired or outside the scope. Verifies their hash.
   *
   * @throws `CORRUPT_VALUE` if the bytes do not match their hash. `CODEC_FAILED` if this store cannot decode them.
   *
   * @example
   * const { id } = await store.artifacts.putText('secret plan', { scope: { userId: 'ada' } });
   * console.log(await store.artifacts.get(id, { scope: { userId: 'bob' } })); // null
   * const bytes = await store.artifacts.get(id, { scope: { userId: 'ada' } });
   * console.log(new TextDecoder().decode(bytes!)); // secret plan
   */
  get(id: string, access?: ArtifactAccess): Promise<Uint8Array | null>;
  /**
   * Returns the bytes of an artifact as a stream, or `null` if it is unknown, expired or outside the scope. With
   * `start` or `end` it reads only the 256 KiB chunks that contain this part. Reading everything verifies the hash of
   * the artifact; reading a part verifies the checksums of its chunks, which artifacts stored by version 0.1 do not
   * have.
   *
   * @throws `CORRUPT_VALUE` or `CODEC_FAILED` while the stream is read. `NOT_FOUND` if the artifact is removed while it
   * is being read.
   *
   * @example
   * const { id } = await store.artifacts.putText('one two three');
   * let text = '';
   * for await (const chunk of (await store.artifacts.getStream(id, { start: 4, end: 7 }))!) {
   *   text += new TextDecoder().decode(chunk);
   * }
   * console.log(text); // two
   */
  getStream(id: string, options?: ReadArtifactOptions): Promise<AsyncIterable<Uint8Array> | null>;
  /** Returns the reference of an artifact, or `null` if it is unknown, expired or outside the scope. */
  getRef(id: string, access?: ArtifactAccess): Promise<ArtifactRef | null>;
  /** Returns whether an artifact exists for this scope. */
  exists(id: string, access?: ArtifactAccess): Promise<boolean>;
  /** Removes a reference and returns whether it existed for this scope. */
  delete(id: string, access?: ArtifactAccess): Promise<boolean>;
  /**
   * Returns a page of references whose scope equals every part that is set, in order of ids: 1 to 1 000 per page,
   * default 100. An artifact without a part does not match a scope that sets it.
   */
  list(scope?: ArtifactScope, options?: PageOptions): Promise<Page<ArtifactRef>>;
  /** Removes expired references and, after a grace period of 1 hour by default, bytes without a reference. */
  sweep(options?: CallOptions & { grace?: Duration }): Promise<{ references: number; blobs: number; bytes: number }>;
}
