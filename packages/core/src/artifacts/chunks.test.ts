/** Chunks of artifact bytes: how streams and bytes are divided, counted, hashed, and compared when they are read. */
import { createHash } from 'node:crypto';
import { describe, expect, it, vi } from 'vitest';
import { CHUNK_BYTES } from '../engine/artifacts.ts';
import { memoryStore } from '../memory/store.ts';
import { chunksAround, chunksOf, cut, HashedChunks, verified } from './chunks.ts';

async function* pieces(...sizes: number[]): AsyncGenerator<Uint8Array> {
  let at = 0;
  for (const size of sizes) yield Uint8Array.from({ length: size }, () => at++ & 0xff);
}

const sizesOf = async (chunks: AsyncIterable<Uint8Array>) =>
  (await Array.fromAsync(chunks)).map(({ length }) => length);
const hashOf = (bytes: Uint8Array) => createHash('sha256').update(bytes).digest('hex');

describe('HashedChunks', () => {
  it.each([
    [[], []],
    [[0, 0], []],
    [[1, 2], [3]],
    [[CHUNK_BYTES - 1, 1], [CHUNK_BYTES]],
    [[CHUNK_BYTES], [CHUNK_BYTES]],
    [[CHUNK_BYTES + 1], [CHUNK_BYTES, 1]],
    [
      [1, 2 * CHUNK_BYTES],
      [CHUNK_BYTES, CHUNK_BYTES, 1],
    ],
  ])('divides pieces of %j bytes into chunks of %j', async (sent, wanted) => {
    const check = vi.fn();
    const source = new HashedChunks(pieces(...sent), check);
    expect(() => source.sha256()).toThrow('once all chunks were read');
    const chunks = await Array.fromAsync(source.chunks);
    const all = Buffer.concat(await Array.fromAsync(pieces(...sent)));
    expect(chunks.map(({ length }) => length)).toEqual(wanted);
    expect(Buffer.concat(chunks).equals(all)).toBe(true);
    expect([source.sizeBytes, source.sha256()]).toEqual([all.length, hashOf(all)]);
    expect(check.mock.calls.flat()).toEqual(
      sent.map((_, at) => sent.slice(0, at + 1).reduce((sum, it) => sum + it, 0)),
    );
  });

  it.each([['text'], [[1, 2]], [7], [new ArrayBuffer(2)]])('refuses pieces that are not bytes: %j', async (piece) => {
    const { artifacts } = memoryStore();
    const stream = (async function* () {
      yield piece as unknown as Uint8Array;
    })();
    await expect(artifacts.putStream(stream)).rejects.toMatchObject({ code: 'INVALID_ARGUMENT', field: 'chunks' });
  });
});

it('slices bytes into chunks, without an empty one at the end', async () => {
  for (const [size, wanted] of [
    [0, []],
    [1, [1]],
    [CHUNK_BYTES, [CHUNK_BYTES]],
    [CHUNK_BYTES + 2, [CHUNK_BYTES, 2]],
  ] as const) {
    const source = chunksOf(new Uint8Array(size), 'hash');
    expect(await sizesOf(source.chunks)).toEqual(wanted);
    expect(source.sha256()).toBe('hash');
  }
});

describe('chunks that are read', () => {
  const bytes = Buffer.from('some bytes');
  const reference = { sha256: hashOf(bytes), sizeBytes: bytes.length };
  const corrupt = { code: 'CORRUPT_VALUE', field: reference.sha256, retryable: false };
  const read = async (chunks: Uint8Array[], of = reference) => {
    const stream = (async function* () {
      yield* chunks;
    })();
    return Buffer.concat(await Array.fromAsync(verified(stream, of))).toString();
  };

  it('must have the size and the hash of the reference', async () => {
    expect(await read([bytes.subarray(0, 4), bytes.subarray(4)])).toBe('some bytes');
    await expect(read([bytes.subarray(0, 4)])).rejects.toMatchObject(corrupt);
    await expect(read([bytes, Buffer.from('x')])).rejects.toMatchObject(corrupt);
    await expect(read([Buffer.from('other byte')])).rejects.toMatchObject(corrupt);
    await expect(read([bytes], { ...reference, sizeBytes: bytes.length + 1 })).rejects.toMatchObject(corrupt);
  });

  it('stops at the first chunk beyond the size', async () => {
    let reads = 0;
    const endless = (async function* () {
      for (;;) {
        reads++;
        yield bytes;
      }
    })();
    await expect(Array.fromAsync(verified(endless, reference))).rejects.toMatchObject(corrupt);
    expect(reads).toBe(2);
  });
});

describe('a range of bytes', () => {
  const sizeBytes = 2 * CHUNK_BYTES + 5;
  const reference = { sha256: 'hash', sizeBytes };
  const part = async (start: number, end: number, sizes: number[]) =>
    (await sizesOf(cut(pieces(...sizes), { start, end }, reference))).filter((size) => size > 0);

  it.each([
    [0, 1, 0, 1],
    [0, CHUNK_BYTES, 0, 1],
    [0, CHUNK_BYTES + 1, 0, 2],
    [CHUNK_BYTES - 1, CHUNK_BYTES, 0, 1],
    [CHUNK_BYTES, CHUNK_BYTES + 1, 1, 2],
    [2 * CHUNK_BYTES, 2 * CHUNK_BYTES + 5, 2, 3],
  ])('from %s to %s needs the chunks from %s to %s', (start, end, from, to) => {
    expect(chunksAround({ start, end })).toEqual({ from, to });
  });

  it('is cut out of the chunks around it', async () => {
    expect(await part(3, 7, [CHUNK_BYTES])).toEqual([4]);
    expect(await part(CHUNK_BYTES - 1, CHUNK_BYTES + 2, [CHUNK_BYTES, CHUNK_BYTES])).toEqual([1, 2]);
    expect(await part(2 * CHUNK_BYTES + 1, sizeBytes, [5])).toEqual([4]);
  });

  it('is corrupt if a chunk is missing or has another size', async () => {
    const corrupt = { code: 'CORRUPT_VALUE', field: 'hash', rule: 'what was stored' };
    await expect(part(0, 1, [])).rejects.toMatchObject(corrupt);
    await expect(part(0, CHUNK_BYTES + 1, [CHUNK_BYTES])).rejects.toMatchObject(corrupt);
    await expect(part(0, 1, [CHUNK_BYTES - 1])).rejects.toMatchObject(corrupt);
    await expect(part(2 * CHUNK_BYTES, sizeBytes, [6])).rejects.toMatchObject(corrupt);
  });
});
