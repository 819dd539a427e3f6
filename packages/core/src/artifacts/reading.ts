/** Reads the bytes of artifacts while other clients remove them: a read returns the whole artifact or none of it. */
import { checkReference, decodeChunks, describeBlob } from '../codec/blobs.ts';
import { isEnvelope } from '../codec/envelope.ts';
import { isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { ArtifactEngine, ArtifactRow } from '../engine/artifacts.ts';
import type { EngineCall } from '../engine/call.ts';
import type { StoreContext } from '../tools/context.ts';
import { corrupt, verified } from './chunks.ts';
import { type CheckedScope, isLive, isWithin } from './scopes.ts';

/** Retries for artifacts that are removed and stored again while they are read. */
const MOST_READS = 3;

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
        if (row !== null && tries === MOST_READS) throw error;
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

  /** Yields the bytes in chunks. Fails with `NOT_FOUND` when the artifact is removed during the read. */
  async *stream(scope: CheckedScope, row: ArtifactRow, call: EngineCall): AsyncGenerator<Uint8Array> {
    try {
      yield* this.chunks(scope.owner, row, call);
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
    const chunks = await this.#engine.getBlob(owner, row.sha256, call);
    if (chunks === null) throw corrupt(sha256);
    const decoded = isEnvelope(row.source) ? decodeChunks(payloads, owner, chunks) : chunks;
    yield* verified(decoded, { sha256, sizeBytes: row.sizeBytes });
  }
}
