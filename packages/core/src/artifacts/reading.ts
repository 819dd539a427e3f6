/** Reads the bytes of artifacts, beside others who remove them: an artifact is there whole or not at all. */
import { checkReference, decodeChunks, describeBlob } from '../codec/blobs.ts';
import { isEnvelope } from '../codec/envelope.ts';
import { isTidemarkError, TidemarkError } from '../contracts/errors.ts';
import type { ArtifactEngine, ArtifactRow } from '../engine/artifacts.ts';
import type { EngineCall } from '../engine/call.ts';
import type { StoreContext } from '../tools/context.ts';
import { corrupt, verified } from './chunks.ts';
import { type CheckedScope, isLive, isWithin } from './scopes.ts';

/** An artifact can be removed and stored again while it is read. */
const MOST_READS = 3;

export class Reading {
  readonly #context: StoreContext;
  readonly #engine: ArtifactEngine;

  constructor(context: StoreContext, engine: ArtifactEngine) {
    this.#context = context;
    this.#engine = engine;
  }

  /** The reference, if it exists for the caller. */
  async find(id: string, scope: CheckedScope, call: EngineCall): Promise<ArtifactRow | null> {
    const row = await this.#engine.getRef(scope.owner, id, call);
    if (!row || !isWithin(row, scope)) return null;
    if (isLive(row, this.#context.clock())) return row;
    // It has expired only if the time that says so is the one that was stored.
    checkReference(this.#context.payloads, scope.owner, row);
    return null;
  }

  /** The reference of bytes that are about to be read; notes the use where it counts. */
  async findForUse(id: string, scope: CheckedScope, call: EngineCall): Promise<ArtifactRow | null> {
    const row = await this.find(id, scope, call);
    const now = this.#context.clock();
    if (row !== null && this.#context.retention.strategy === 'lru' && now > row.accessedAt) {
      await this.#engine.touchRef(scope.owner, id, now, call);
    }
    return row;
  }

  /** All bytes; `null` when the artifact is not there, also when it is removed while it is read. */
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

  /** The bytes in chunks. Fails with `NOT_FOUND` when the artifact is removed meanwhile. */
  async *stream(scope: CheckedScope, row: ArtifactRow, call: EngineCall): AsyncGenerator<Uint8Array> {
    try {
      yield* this.chunks(scope.owner, row, call);
    } catch (error) {
      if (!isTidemarkError(error, 'STORAGE_ERROR', 'CORRUPT_VALUE', 'UNAVAILABLE')) throw error;
      if ((await this.find(row.id, scope, call)) !== null) throw error;
      throw new TidemarkError('NOT_FOUND', 'The artifact was removed while it was read', { cause: error });
    }
  }

  /** The bytes of a reference; what does not agree with its size or hash is refused rather than returned. */
  async *chunks(owner: string, row: ArtifactRow, call: EngineCall): AsyncGenerator<Uint8Array> {
    const { payloads } = this.#context;
    const { sha256 } = describeBlob(payloads, owner, row);
    const chunks = await this.#engine.getBlob(owner, row.sha256, call);
    if (chunks === null) throw corrupt(sha256);
    const decoded = isEnvelope(row.source) ? decodeChunks(payloads, owner, chunks) : chunks;
    yield* verified(decoded, { sha256, sizeBytes: row.sizeBytes });
  }
}
