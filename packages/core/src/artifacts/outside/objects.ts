/**
 * The objects of artifacts outside the engine: finds and reads the object of a pointer, and removes objects that no
 * pointer refers to (AGT-11). Engines treat a pointer like bytes: they remove it only when no reference needs it.
 */
import { isTidemarkError } from '../../contracts/errors.ts';
import { type ArtifactEngine, CHUNK_BYTES, type ChunkRange } from '../../engine/artifacts.ts';
import type { ByteStore } from '../../engine/byte-store.ts';
import type { EngineCall } from '../../engine/call.ts';
import { encodeId } from '../../tools/encoded-ids.ts';
import { inParts } from '../../tools/paging.ts';
import { corrupt } from '../chunks.ts';
import { checkedChunks } from './checked-chunks.ts';
import { decodePointer, type Pointer } from './pointer.ts';
import type { ErasedObject, ListedObject, ObjectRegistry } from './registry.ts';

/** How long an upload may stall before a sweep treats it as abandoned. */
export const PENDING_FOR_MS = 3_600_000;
const AT_ONCE = 16;
/** How often to look up a pointer whose object is missing. A put of the same bytes may have replaced both since. */
const MAX_LOOKUPS = 3;

/** The name of an object in the byte store. Each tenant has its own prefix. */
export function objectName(tenantId: string, object: string): string {
  return `artifacts/${encodeId(tenantId)}/${object}`;
}

/** The total size of the removed objects and of their pointers. */
export interface RemovedObjects {
  sizeBytes: number;
  pointerBytes: number;
}

export class OutsideObjects {
  readonly #inner: ArtifactEngine;
  readonly #registry: ObjectRegistry;
  readonly #bytes: ByteStore;

  constructor(inner: ArtifactEngine, registry: ObjectRegistry, bytes: ByteStore) {
    this.#inner = inner;
    this.#registry = registry;
    this.#bytes = bytes;
  }

  /** Returns the pointer stored under a hash, `inside` if the engine has the bytes themselves, or `null`. */
  async pointer(tenantId: string, sha256: string, call: EngineCall): Promise<Pointer | 'inside' | null> {
    const chunks = await this.#inner.getBlob(tenantId, sha256, { from: 0, to: 1 }, call);
    if (chunks === null) return null;
    for await (const chunk of chunks) return decodePointer(chunk, sha256) ?? 'inside';
    return 'inside';
  }

  /** Returns the bytes stored under a hash, inside or outside the engine. */
  async read(
    tenantId: string,
    sha256: string,
    range: ChunkRange,
    call: EngineCall,
  ): Promise<AsyncIterable<Uint8Array> | null> {
    for (let lookups = 1; ; lookups++) {
      const pointer = await this.pointer(tenantId, sha256, call);
      if (pointer === null) return null;
      if (pointer === 'inside') return this.#inner.getBlob(tenantId, sha256, range, call);
      const start = Math.min(range.from * CHUNK_BYTES, pointer.sizeBytes);
      const end = Math.min(range.to * CHUNK_BYTES, pointer.sizeBytes);
      if (start === end) return nothing();
      const bytes = await this.#bytes.get(objectName(tenantId, pointer.object), start, end, call);
      if (bytes !== null) return checkedChunks(bytes, range.from, end - start, pointer.sums);
      if (lookups === MAX_LOOKUPS) throw corrupt(sha256);
    }
  }

  /**
   * Removes an object that nothing refers to. The entry is marked first, so that a writer that is about to refer to the
   * object detects the removal. Returns false if the entry has changed since it was read.
   */
  async remove(entry: ListedObject, call: EngineCall): Promise<boolean> {
    const marked = entry.state === 'removing' ? entry : await this.#registry.set(entry, 'removing', {}, call);
    if (marked === null) return false;
    await this.#bytes.remove(objectName(entry.tenantId, entry.object), call);
    await this.#registry.drop(marked, call);
    return true;
  }

  /** Removes the objects of a tenant, or of all tenants, that no pointer refers to. */
  async removeUnreferenced(tenantId: string | null, graceMs: number, call: EngineCall): Promise<RemovedObjects> {
    const removed = { sizeBytes: 0, pointerBytes: 0 };
    const now = await this.#registry.now(call);
    for await (const page of this.#registry.pages(tenantId, call)) {
      for (const some of inParts(page, AT_ONCE)) {
        const outcomes = await Promise.all(some.map((entry) => this.#removeIfUnreferenced(entry, now, graceMs, call)));
        for (const [at, { sizeBytes, pointerBytes, state }] of some.entries()) {
          if (!outcomes[at] || state !== 'kept') continue;
          removed.sizeBytes += sizeBytes;
          removed.pointerBytes += pointerBytes;
        }
      }
    }
    return removed;
  }

  async #removeIfUnreferenced(entry: ListedObject, now: number, graceMs: number, call: EngineCall): Promise<boolean> {
    const { tenantId, state, sha256, object } = entry;
    const age = now - entry.at;
    if (state === 'removing') return this.remove(entry, call);
    if (state === 'pending' && age < PENDING_FOR_MS) return false;
    const pointer = sha256 === null ? null : await this.#pointerIfReadable(tenantId, sha256, call);
    if (pointer === 'unreadable') return false;
    const isReferenced = pointer !== null && pointer !== 'inside' && pointer.object === object;
    if (isReferenced) {
      if (state !== 'kept') await this.#registry.set(entry, 'kept', {}, call);
      return false;
    }
    // Readers may have found the object before a put of the same bytes replaced it.
    if (pointer !== null && state === 'kept') {
      await this.#registry.set(entry, 'replaced', {}, call);
      return false;
    }
    if (state === 'replaced' && age < graceMs) return false;
    return this.remove(entry, call);
  }

  /** Reads the pointer of a hash. A damaged pointer may refer to any object of its hash, so all of them are kept. */
  async #pointerIfReadable(tenantId: string, sha256: string, call: EngineCall) {
    try {
      return await this.pointer(tenantId, sha256, call);
    } catch (error) {
      if (isTidemarkError(error, 'CORRUPT_VALUE')) return 'unreadable';
      throw error;
    }
  }

  /** Returns the objects that the pointers of some hashes refer to. */
  async referencedObjects(tenantId: string, hashes: Iterable<string>, call: EngineCall): Promise<ErasedObject[]> {
    const found: ErasedObject[] = [];
    for (const some of inParts([...new Set(hashes)], AT_ONCE)) {
      const pointers = await Promise.all(some.map((sha256) => this.#pointerIfReadable(tenantId, sha256, call)));
      for (const [at, pointer] of pointers.entries())
        if (pointer !== null && typeof pointer === 'object') found.push({ sha256: some[at]!, object: pointer.object });
    }
    return found;
  }

  /** Removes each of these objects whose pointer no longer exists. */
  async removeReleased(tenantId: string, objects: readonly ErasedObject[], call: EngineCall): Promise<void> {
    for (const some of inParts(objects, AT_ONCE))
      await Promise.all(
        some.map(async ({ sha256, object }) => {
          const pointer = await this.#pointerIfReadable(tenantId, sha256, call);
          if (pointer === 'unreadable' || (pointer !== null && pointer !== 'inside' && pointer.object === object))
            return;
          const entry = await this.#registry.find(tenantId, object, call);
          if (entry && entry.state !== 'pending') await this.remove(entry, call);
        }),
      );
  }
}

async function* nothing(): AsyncGenerator<Uint8Array> {}
