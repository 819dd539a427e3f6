/**
 * An artifact engine whose bytes are objects of a byte store (AGT-11). References and the age of bytes stay in the
 * engine it wraps, which stores a pointer instead of the bytes. Every upload creates a new object, so that an object
 * is written once and never replaced. Bytes that the wrapped engine stored itself are still read from it.
 */
import { isTidemarkError, TidemarkError } from '../../contracts/errors.ts';
import type { ArtifactEngine, ArtifactRow, BlobSource, StagedBytes } from '../../engine/artifacts.ts';
import type { ByteStore } from '../../engine/byte-store.ts';
import type { EngineCall } from '../../engine/call.ts';
import type { Records } from '../../engine/records.ts';
import type { TenancyEngine } from '../../engine/tenancy.ts';
import { BlockSums } from '../../tools/block-sums.ts';
import type { StoreContext } from '../../tools/context.ts';
import { chunksOf } from '../chunks.ts';
import { OutsideObjects, objectName, PENDING_FOR_MS } from './objects.ts';
import { encodePointer } from './pointer.ts';
import { type ListedObject, ObjectRegistry } from './registry.ts';

/** How often a long upload renews its entry, so that a sweep does not treat it as abandoned. */
const RENEWED_EVERY_MS = PENDING_FOR_MS / 12;

export interface OutsideArtifacts extends ArtifactEngine {
  /** Wraps the tenancy engine so that erasing the artifacts of a tenant removes its objects. */
  tenancy(inner: TenancyEngine): TenancyEngine;
}

export function outsideArtifacts(
  context: Pick<StoreContext, 'uuid'>,
  inner: ArtifactEngine,
  records: Records,
  bytes: ByteStore,
): OutsideArtifacts {
  const registry = new ObjectRegistry(records);
  const objects = new OutsideObjects(inner, registry, bytes);

  const finishErasures = async (tenantId: string, call: EngineCall) =>
    objects.removeReleased(tenantId, await registry.marked(tenantId, call), call);

  return {
    stage: (tenantId, source, call) =>
      Upload.start({ context, inner, registry, objects, bytes }, tenantId, source, call),
    getRef: (tenantId, id, call) => inner.getRef(tenantId, id, call),
    touchRef: (tenantId, id, at, call) => inner.touchRef(tenantId, id, at, call),
    deleteRef: (tenantId, id, seen, call) => inner.deleteRef(tenantId, id, seen, call),
    listRefs: (tenantId, match, range, call) => inner.listRefs(tenantId, match, range, call),
    getBlob: (tenantId, sha256, range, call) => objects.read(tenantId, sha256, range, call),

    async totals(tenantId, now, call) {
      const totals = await inner.totals(tenantId, now, call);
      for await (const page of registry.pages(tenantId, call))
        for (const { state, sizeBytes, pointerBytes } of page)
          if (state === 'kept') totals.bytes += sizeBytes - pointerBytes;
      return totals;
    },

    async eraseRefs(tenantId, match, limit, call) {
      const found = await inner.listRefs(tenantId, match, { after: null, limit }, call);
      const erasure = context.uuid();
      const released = await objects.referencedObjects(
        tenantId,
        found.map(({ sha256 }) => sha256),
        call,
      );
      if (released.length > 0) await registry.mark(tenantId, erasure, released, call);
      const removed = await inner.eraseRefs(tenantId, match, limit, call);
      await objects.removeReleased(tenantId, released, call);
      if (released.length > 0) await registry.unmark(tenantId, erasure, call);
      if (removed === 0) await finishErasures(tenantId, call);
      return removed;
    },

    async sweep(only, now, graceMs, call) {
      const swept = await inner.sweep(only, now, graceMs, call);
      const removed = await objects.removeUnreferenced(only, graceMs, call);
      return { ...swept, bytes: Math.max(0, swept.bytes - removed.pointerBytes) + removed.sizeBytes };
    },

    tenancy: (tenancy) => ({
      ...bound(tenancy),
      async erase(part, tenantId, limit, call) {
        const erased = await tenancy.erase(part, tenantId, limit, call);
        if (part === 'artifacts' && erased === 0) await objects.removeUnreferenced(tenantId, 0, call);
        return erased;
      },
    }),

    async downloadUrl(tenantId, sha256, headers, expiresInMs, call) {
      const pointer = await objects.pointer(tenantId, sha256, call);
      if (pointer === null || pointer === 'inside' || !bytes.downloadUrl) return null;
      return bytes.downloadUrl(objectName(tenantId, pointer.object), headers, expiresInMs);
    },
  };
}

function bound(tenancy: TenancyEngine): TenancyEngine {
  return {
    tenants: (part, after, limit, call) => tenancy.tenants(part, after, limit, call),
    erase: (part, tenantId, limit, call) => tenancy.erase(part, tenantId, limit, call),
    eraseTrace: (part, tenantId, traceId, limit, call) => tenancy.eraseTrace(part, tenantId, traceId, limit, call),
    erasePauses: (tenantId, sessionId, limit, call) => tenancy.erasePauses(tenantId, sessionId, limit, call),
    eraseBindings: (tenantId, sessionId, limit, call) => tenancy.eraseBindings(tenantId, sessionId, limit, call),
    removedRuns: (tenantId, after, limit, call) => tenancy.removedRuns(tenantId, after, limit, call),
    traces: (part, tenantId, after, limit, call) => tenancy.traces(part, tenantId, after, limit, call),
  };
}

interface Parts {
  context: Pick<StoreContext, 'uuid'>;
  inner: ArtifactEngine;
  registry: ObjectRegistry;
  objects: OutsideObjects;
  bytes: ByteStore;
}

/** Bytes in a new object, until a reference is stored. */
class Upload implements StagedBytes {
  readonly #parts: Parts;
  readonly #sums = new BlockSums();
  #entry: ListedObject;
  #sizeBytes = 0;
  #renewedAt = Date.now();
  /** `unknown`: the reference may have been stored, so only a sweep may remove the object. */
  #outcome: 'unreferenced' | 'referenced' | 'unknown' = 'unreferenced';
  /** The object to which the pointer of the same bytes referred before this upload. */
  #earlier: string | null = null;

  private constructor(parts: Parts, entry: ListedObject) {
    this.#parts = parts;
    this.#entry = entry;
  }

  /** Lists a new object and uploads the source to it. */
  static async start(parts: Parts, tenantId: string, source: BlobSource, call: EngineCall): Promise<Upload> {
    const upload = new Upload(parts, await parts.registry.add(tenantId, parts.context.uuid(), call));
    const { object } = upload.#entry;
    try {
      await parts.bytes.put(objectName(tenantId, object), upload.#counted(source, call), call);
      return upload;
    } catch (error) {
      // A request that was given up may still arrive, so the entry stays until a sweep removes the object.
      if (!isTidemarkError(error, 'OUTCOME_UNKNOWN', 'TIMEOUT', 'ABORTED')) await upload.discard(call).catch(() => {});
      throw error;
    }
  }

  async *#counted(source: BlobSource, call: EngineCall): AsyncGenerator<Uint8Array> {
    for await (const chunk of source.chunks) {
      this.#sums.add(chunk);
      this.#sizeBytes += chunk.length;
      if (Date.now() - this.#renewedAt > RENEWED_EVERY_MS) await this.#renew(call);
      yield chunk;
    }
  }

  async #renew(call: EngineCall): Promise<void> {
    const renewed = await this.#parts.registry.set(this.#entry, 'pending', {}, call);
    if (renewed === null) throw new TidemarkError('UNAVAILABLE', 'A sweep removed the bytes of an upload that paused');
    this.#entry = renewed;
    this.#renewedAt = Date.now();
  }

  /**
   * Stores the reference between two changes of the entry. The first change fails if a sweep is removing the object.
   * The second fails if a sweep began to remove it in the meantime, because this writer stalled for an hour. The
   * reference is then removed again.
   */
  async refer(row: ArtifactRow, call: EngineCall): Promise<boolean> {
    const { inner, registry, objects } = this.#parts;
    const { tenantId, object } = this.#entry;
    const { sha256 } = row;
    const earlier = await objects.pointer(tenantId, sha256, call);
    this.#earlier = earlier !== null && earlier !== 'inside' ? earlier.object : null;
    const pointer = encodePointer({ object, sha256, sizeBytes: this.#sizeBytes, sums: this.#sums.end() });
    const about = { sha256, sizeBytes: this.#sizeBytes, pointerBytes: pointer.length };
    const described = await registry.set(this.#entry, 'pending', about, call);
    if (described === null) return false;
    this.#entry = described;
    this.#outcome = 'unknown';
    const staged = await inner.stage(tenantId, chunksOf(pointer, sha256), call);
    const isReferred = await staged.refer(row, call).finally(() => staged.discard(call).catch(() => {}));
    this.#outcome = isReferred ? 'referenced' : 'unreferenced';
    if (!isReferred) return false;
    const kept = await registry.set(this.#entry, 'kept', {}, call).catch((cause) => {
      throw new TidemarkError('OUTCOME_UNKNOWN', 'The artifact was stored, but its object could not be kept', {
        cause,
      });
    });
    if (kept !== null) this.#entry = kept;
    else if (await this.#wasTaken(call)) {
      await inner.deleteRef(tenantId, row.id, row, call);
      return false;
    }
    return true;
  }

  /**
   * Whether a sweep is removing or has removed the object. A sweep that found the reference has set the entry to `kept`
   * instead.
   */
  async #wasTaken(call: EngineCall): Promise<boolean> {
    const entry = await this.#parts.registry.find(this.#entry.tenantId, this.#entry.object, call);
    return entry === null || entry.state === 'removing';
  }

  /**
   * Removes the object unless the reference uses it. An engine that already had the bytes either keeps or replaces
   * their pointer, which leaves one of the two objects unused. Readers may still use the earlier object, so a sweep
   * removes it.
   */
  async discard(call: EngineCall): Promise<void> {
    const { objects, registry } = this.#parts;
    const { tenantId, object, sha256 } = this.#entry;
    if (this.#outcome === 'unreferenced') {
      const entry = await registry.find(tenantId, object, call);
      if (entry) await objects.remove(entry, call);
    } else if (this.#outcome === 'referenced') {
      const pointer = await objects.pointer(tenantId, sha256!, call);
      const isOurs = pointer !== null && pointer !== 'inside' && pointer.object === object;
      if (isOurs) await this.#releaseEarlier(call);
      else if (pointer !== null) await objects.remove(this.#entry, call);
    }
  }

  async #releaseEarlier(call: EngineCall): Promise<void> {
    if (this.#earlier === null) return;
    const entry = await this.#parts.registry.find(this.#entry.tenantId, this.#earlier, call);
    if (entry?.state === 'kept') await this.#parts.registry.set(entry, 'replaced', {}, call);
  }
}
