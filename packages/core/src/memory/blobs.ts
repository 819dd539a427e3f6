/** The blobs primitive in memory. Bytes are copied on write and on read, so that callers never share them. */

import type { BlobSource, ChunkRange } from '../engine/artifacts.ts';
import type { BlobInfo, Blobs, StagedBlob } from '../engine/blobs.ts';
import { compareKeys } from '../kv/order.ts';
import type { StoreContext } from '../tools/context.ts';

interface Blob extends BlobInfo {
  chunks: Uint8Array[];
}

class MemoryBlobs implements Blobs {
  readonly #context: Pick<StoreContext, 'clock'>;
  readonly #blobs = new Map<string, Blob>();
  #version = 0;

  constructor(context: Pick<StoreContext, 'clock'>) {
    this.#context = context;
  }

  async stage(tenantId: string, source: BlobSource): Promise<StagedBlob> {
    const chunks: Uint8Array[] = [];
    let sizeBytes = 0;
    for await (const chunk of source.chunks) {
      chunks.push(new Uint8Array(chunk));
      sizeBytes += chunk.length;
    }
    const sha256 = source.sha256();
    return {
      keep: async () => {
        const kept = this.#blobs.get(idOf(tenantId, sha256))?.chunks ?? chunks;
        const age = { renewedAt: this.#context.clock(), version: String(++this.#version) };
        this.#blobs.set(idOf(tenantId, sha256), { tenantId, sha256, sizeBytes, ...age, chunks: kept });
        return true;
      },
      discard: async () => {},
    };
  }

  async get(tenantId: string, sha256: string, { from, to }: ChunkRange): Promise<AsyncIterable<Uint8Array> | null> {
    const blob = this.#blobs.get(idOf(tenantId, sha256));
    return blob ? copiesOf(blob.chunks.slice(from, to)) : null;
  }

  async info(tenantId: string, hashes: readonly string[]): Promise<BlobInfo[]> {
    return hashes.flatMap((sha256) => {
      const blob = this.#blobs.get(idOf(tenantId, sha256));
      return blob ? [infoOf(blob)] : [];
    });
  }

  async list(after: { tenantId: string; sha256: string } | null, limit: number): Promise<BlobInfo[]> {
    return [...this.#blobs.values()]
      .sort(compareBlobs)
      .filter((blob) => after === null || compareBlobs(blob, after) > 0)
      .slice(0, limit)
      .map(infoOf);
  }

  /** Does nothing: no data remains once the blobs are removed. */
  async clear(): Promise<void> {}

  async remove({ tenantId, sha256, version }: Pick<BlobInfo, 'tenantId' | 'sha256' | 'version'>): Promise<boolean> {
    const id = idOf(tenantId, sha256);
    return this.#blobs.get(id)?.version === version && this.#blobs.delete(id);
  }
}

function infoOf({ chunks: _, ...info }: Blob): BlobInfo {
  return info;
}

async function* copiesOf(chunks: readonly Uint8Array[]): AsyncGenerator<Uint8Array> {
  for (const chunk of chunks) yield new Uint8Array(chunk);
}

function compareBlobs(a: { tenantId: string; sha256: string }, b: { tenantId: string; sha256: string }): number {
  return compareKeys(a.tenantId, b.tenantId) || compareKeys(a.sha256, b.sha256);
}

/** The hash comes first: its length is fixed, so different pairs have different ids. */
function idOf(tenantId: string, sha256: string): string {
  return `${sha256}${tenantId}`;
}

export function memoryBlobs(context: Pick<StoreContext, 'clock'>): Blobs {
  return new MemoryBlobs(context);
}
