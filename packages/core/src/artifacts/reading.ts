/** Reads the bytes of artifacts while other clients remove them: a read returns the whole artifact or nothing. */
import type { ByteRange } from '../checks/numbers.ts';
import { checkReference, decodeChunks, describeBlob } from '../codec/blobs.ts';
import { isEnvelope } from '../codec/envelope.ts';
import { isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import { ALL_CHUNKS, type ArtifactEngine, type ArtifactRow } from '../engine/artifacts.ts';
import type { EngineCall } from '../engine/call.ts';
import type { StoreContext } from '../tools/context.ts';
import { chunksAround, corrupt, cut, verified } from './chunks.ts';
import { type CheckedScope, isLive, isWithin } from './scopes.ts';

/** The maximum number of attempts to read an artifact that is removed and stored again during the read. */
const MAX_READS = 3;

export class Reading {
  readonly #context: StoreContext;
  readonly #engine: ArtifactEngine;

  constructor(context: StoreContext, engine: ArtifactEngine) {
    this.#context = context;
    this.#engine = engine;
  }

  /** Returns the reference if it exists in the caller's scope. */
  async find(id: string, scope: CheckedScope, call: EngineCall): Promise<ArtifactRow | null> {
    const row = await this.#engine.getRef(scope.owner, id, call);
    if (!row || !isWithin(row, scope)) return null;
    if (isLive(row, this.#context.clock())) return row;
    // Verify first: a damaged expiry time must not hide an artifact.
    checkReference(this.#context.payloads, scope.owner, row);
    return null;
  }

  /** Returns the reference of bytes about to be read, and records the use for `lru`. */
  async findForUse(id: string, scope: CheckedScope, call: EngineCall): Promise<ArtifactRow | null> {
    const row = await this.find(id, scope, call);
    const now = this.#context.clock();
    if (row !== null && this.#context.retention.strategy === 'lru' && now > row.accessedAt) {
      await this.#engine.touchRef(scope.owner, id, now, call);
    }
    return row;
  }

  /** Returns all bytes, or `null` when the artifact is missing or removed during the read. */
  async whole(id: string, scope: CheckedScope, call: EngineCall): Promise<Uint8Array | null> {
    let row = await this.findForUse(id, scope, call);
    for (let tries = 1; row !== null; tries++) {
      try {
        return await this.#collect(scope.owner, row, call);
      } catch (error) {
        if (!isTidemarkError(error, 'STORAGE_ERROR', 'CORRUPT_VALUE', 'UNAVAILABLE')) throw error;
        row = await this.find(id, scope, call);
        if (row !== null && tries === MAX_READS) throw error;
      }
    }
    return null;
  }

  async #collect(owner: string, row: ArtifactRow, call: EngineCall): Promise<Uint8Array> {
    const bytes = new Uint8Array(row.sizeBytes);
    let filled = 0;
    for await (const chunk of this.chunks(owner, row, call)) {
      bytes.set(chunk, filled);
      filled += chunk.length;
    }
    return bytes;
  }

  /** Yields a range of the bytes in chunks. Fails with `NOT_FOUND` when the artifact is removed during the read. */
  async *stream(scope: CheckedScope, row: ArtifactRow, range: ByteRange, call: EngineCall): AsyncGenerator<Uint8Array> {
    const isWhole = range.start === 0 && range.end >= row.sizeBytes;
    try {
      yield* isWhole ? this.chunks(scope.owner, row, call) : this.#part(scope.owner, row, range, call);
    } catch (error) {
      if (!isTidemarkError(error, 'STORAGE_ERROR', 'CORRUPT_VALUE', 'UNAVAILABLE')) throw error;
      if ((await this.find(row.id, scope, call)) !== null) throw error;
      throw new TidemarkError('NOT_FOUND', 'The artifact was removed while it was read', { cause: error });
    }
  }

  /** Yields the bytes of a reference. Throws instead of ending when they do not match its size or hash. */
  async *chunks(owner: string, row: ArtifactRow, call: EngineCall): AsyncGenerator<Uint8Array> {
    const { payloads } = this.#context;
    const { sha256 } = describeBlob(payloads, owner, row);
    const chunks = await this.#engine.getBlob(owner, row.sha256, ALL_CHUNKS, call);
    if (chunks === null) throw corrupt(sha256);
    const decoded = isEnvelope(row.source) ? decodeChunks(payloads, owner, chunks) : chunks;
    yield* verified(decoded, { sha256, sizeBytes: row.sizeBytes });
  }

  /**
   * Yields a range of the bytes. Reads only the chunks that contain the range, but reads encoded bytes from their
   * beginning. The hash covers all bytes, so a range is verified by the checksums of its chunks and by the codec.
   */
  async *#part(owner: string, row: ArtifactRow, range: ByteRange, call: EngineCall): AsyncGenerator<Uint8Array> {
    const { payloads } = this.#context;
    const { sha256 } = describeBlob(payloads, owner, row);
    const { sizeBytes } = row;
    const wanted = { start: range.start, end: Math.min(range.end, sizeBytes) };
    if (wanted.start >= wanted.end) return;
    const { from, to } = chunksAround(wanted);
    const isEncoded = isEnvelope(row.source);
    const chunks = await this.#engine.getBlob(owner, row.sha256, isEncoded ? ALL_CHUNKS : { from, to }, call);
    if (chunks === null) throw corrupt(sha256);
    yield* cut(isEncoded ? decodeChunks(payloads, owner, chunks, from) : chunks, wanted, { sha256, sizeBytes });
  }
}
