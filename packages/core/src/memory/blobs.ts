/** The blobs primitive in memory: bytes are copied on the way in and out, so that no caller shares them. */
import type { StoreContext } from '../context.ts';
import type { BlobSource } from '../engine/artifacts.ts';
import type { BlobInfo, Blobs } from '../engine/blobs.ts';
import { compareKeys } from '../kv/order.ts';

interface Blob extends BlobInfo {
  chunks: Uint8Array[];
}

class MemoryBlobs implements Blobs {
  readonly #context: Pick<StoreContext, 'clock'>;
  readonly #blobs = new Map<string, Blob>();

  constructor(context: Pick<StoreContext, 'clock'>) {
    this.#context = context;
  }

  async put(tenantId: string, source: BlobSource): Promise<void> {
    const chunks: Uint8Array[] = [];
    let sizeBytes = 0;
    for await (const chunk of source.chunks) {
      chunks.push(new Uint8Array(chunk));
      sizeBytes += chunk.length;
    }
    const sha256 = source.sha256();
    const blob = this.#blobs.get(idOf(tenantId, sha256)) ?? { tenantId, sha256, sizeBytes, renewedAt: 0, chunks };
    blob.renewedAt = this.#context.clock();
    this.#blobs.set(idOf(tenantId, sha256), blob);
  }

  async get(tenantId: string, sha256: string): Promise<AsyncIterable<Uint8Array> | null> {
    const blob = this.#blobs.get(idOf(tenantId, sha256));
    return blob ? copiesOf(blob.chunks) : null;
  }

  async list(after: { tenantId: string; sha256: string } | null, limit: number): Promise<BlobInfo[]> {
    return [...this.#blobs.values()]
      .sort(compareBlobs)
      .filter((blob) => after === null || compareBlobs(blob, after) > 0)
      .slice(0, limit)
      .map(({ chunks: _, ...info }) => info);
  }

  /** Nothing is left once the blobs are gone. */
  async clear(): Promise<void> {}

  async remove(tenantId: string, sha256: string, renewedBefore: number): Promise<boolean> {
    const blob = this.#blobs.get(idOf(tenantId, sha256));
    if (!blob || blob.renewedAt >= renewedBefore) return false;
    return this.#blobs.delete(idOf(tenantId, sha256));
  }
}

async function* copiesOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield new Uint8Array(chunk);
}

function compareBlobs(a: { tenantId: string; sha256: string }, b: { tenantId: string; sha256: string }): number {
  return compareKeys(a.tenantId, b.tenantId) || compareKeys(a.sha256, b.sha256);
}

/** The hash first: it has a fixed length, so that no two pairs meet. */
function idOf(tenantId: string, sha256: string): string {
  return `${sha256}${tenantId}`;
}

export function memoryBlobs(context: Pick<StoreContext, 'clock'>): Blobs {
  return new MemoryBlobs(context);
}
