/** Cuts a stream of bytes into chunks and compares each with its checksum before it is passed on. */
import { corruptValue } from '../../checks/damage.ts';
import { CHUNK_BYTES } from '../../engine/artifacts.ts';
import { matchesBlock } from '../../tools/block-sums.ts';

/**
 * Yields the chunks of a stream that begins with the chunk `from` and has `sizeBytes`. Throws `CORRUPT_VALUE` for a
 * chunk that does not match, and for a stream of another length.
 */
export async function* checkedChunks(
  stream: AsyncIterable<Uint8Array>,
  from: number,
  sizeBytes: number,
  sums: Uint8Array,
): AsyncGenerator<Uint8Array> {
  let [at, left] = [from, sizeBytes];
  let chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, left));
  let filled = 0;
  for await (const piece of stream) {
    for (let start = 0; start < piece.length; ) {
      if (left === 0) throw corruptValue('artifact object', 'its end');
      const part = piece.subarray(start, start + chunk.length - filled);
      chunk.set(part, filled);
      filled += part.length;
      start += part.length;
      if (filled < chunk.length) continue;
      if (!matchesBlock(sums, at, chunk)) throw corruptValue('artifact chunk', String(at));
      yield chunk;
      at++;
      left -= filled;
      chunk = Buffer.allocUnsafe(Math.min(CHUNK_BYTES, left));
      filled = 0;
    }
  }
  if (left > 0) throw corruptValue('artifact chunk', String(at));
}
