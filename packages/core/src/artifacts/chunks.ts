/** Streams of artifact bytes: even chunks of at most 256 KiB, counted and hashed in transit (AGT-11). */
import { createHash } from 'node:crypto';
import type { ByteRange } from '../checks/numbers.ts';
import { invalidArgument, TidemarkError } from '../contracts/errors.ts';
import { type BlobSource, CHUNK_BYTES, type ChunkRange } from '../engine/artifacts.ts';

/** A blob source over a stream of chunks of any size. `check` gets the size so far and may throw to stop. */
export class HashedChunks implements BlobSource {
  readonly chunks: AsyncIterable<Uint8Array>;
  readonly #hash = createHash('sha256');
  #sizeBytes = 0;
  #digest: string | null = null;

  constructor(stream: AsyncIterable<Uint8Array>, check: (sizeBytes: number) => void) {
    this.chunks = this.#read(stream, check);
  }

  get sizeBytes(): number {
    return this.#sizeBytes;
  }

  sha256(): string {
    if (this.#digest === null) throw new Error('The hash is known once all chunks were read');
    return this.#digest;
  }

  async *#read(stream: AsyncIterable<Uint8Array>, check: (sizeBytes: number) => void): AsyncGenerator<Uint8Array> {
    let chunk = Buffer.allocUnsafe(CHUNK_BYTES);
    let filled = 0;
    for await (const piece of stream) {
      if (!(piece instanceof Uint8Array)) throw invalidArgument('chunks', 'a stream of Uint8Array', piece);
      check(this.#sizeBytes + piece.length);
      this.#sizeBytes += piece.length;
      for (let from = 0; from < piece.length; ) {
        const part = piece.subarray(from, from + CHUNK_BYTES - filled);
        chunk.set(part, filled);
        filled += part.length;
        from += part.length;
        if (filled < CHUNK_BYTES) continue;
        this.#hash.update(chunk);
        yield chunk;
        chunk = Buffer.allocUnsafe(CHUNK_BYTES);
        filled = 0;
      }
    }
    if (filled > 0) {
      const last = chunk.subarray(0, filled);
      this.#hash.update(last);
      yield last;
    }
    this.#digest = this.#hash.digest('hex');
  }
}

/** Wraps bytes as a blob source. */
export function chunksOf(bytes: Uint8Array, sha256: string): BlobSource {
  async function* slices(): AsyncGenerator<Uint8Array> {
    for (let from = 0; from < bytes.length; from += CHUNK_BYTES) yield bytes.subarray(from, from + CHUNK_BYTES);
  }
  return { chunks: slices(), sha256: () => sha256 };
}

/** Passes chunks on. Throws at the end if they do not match the reference's size and hash. */
export async function* verified(
  chunks: AsyncIterable<Uint8Array>,
  { sha256, sizeBytes }: { sha256: string; sizeBytes: number },
): AsyncGenerator<Uint8Array> {
  const hash = createHash('sha256');
  let seen = 0;
  for await (const chunk of chunks) {
    seen += chunk.length;
    if (seen > sizeBytes) throw corrupt(sha256);
    hash.update(chunk);
    yield chunk;
  }
  if (seen !== sizeBytes || hash.digest('hex') !== sha256) throw corrupt(sha256);
}

/** Returns the chunks that contain a range of bytes. */
export function chunksAround({ start, end }: ByteRange): ChunkRange {
  return { from: Math.floor(start / CHUNK_BYTES), to: Math.ceil(end / CHUNK_BYTES) };
}

/**
 * Cuts a range of bytes out of the chunks that contain it. Throws if a chunk is missing or does not have its stored
 * size.
 */
export async function* cut(
  chunks: AsyncIterable<Uint8Array>,
  range: ByteRange,
  { sha256, sizeBytes }: { sha256: string; sizeBytes: number },
): AsyncGenerator<Uint8Array> {
  let at = chunksAround(range).from * CHUNK_BYTES;
  for await (const chunk of chunks) {
    if (chunk.length !== Math.min(CHUNK_BYTES, sizeBytes - at)) throw corrupt(sha256);
    yield chunk.subarray(Math.max(0, range.start - at), range.end - at);
    at += chunk.length;
    if (at >= range.end) return;
  }
  throw corrupt(sha256);
}

export function corrupt(sha256: string): TidemarkError {
  return new TidemarkError(
    'CORRUPT_VALUE',
    `The stored bytes of SHA-256 ${sha256} are missing or altered; restore them from a backup or store the artifact again`,
    { field: sha256, rule: 'what was stored' },
  );
}
