/** Compression of packs: zstd if Node has it, otherwise gzip. The file name shows which. */
import { PassThrough, Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import * as zlib from 'node:zlib';
import { TidemarkError } from '@tidemark/core';

/** Node before 22.15 has no zstd. */
const hasZstd = typeof zlib.createZstdCompress === 'function';
/** Packs are written once and kept for years. Higher levels save little space and take many times as long. */
const ZSTD_LEVEL = 9;

export const SUFFIX = hasZstd ? '.zst' : '.gz';

export function compressed(content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  return through(content, hasZstd ? zlib.createZstdCompress({ params: zstdParams() }) : zlib.createGzip({ level: 9 }));
}

function zstdParams(): Record<number, number> {
  const { ZSTD_c_compressionLevel, ZSTD_c_checksumFlag } = zlib.constants;
  return { [ZSTD_c_compressionLevel]: ZSTD_LEVEL, [ZSTD_c_checksumFlag]: 1 };
}

export function decompressed(name: string, content: AsyncIterable<Uint8Array>): AsyncIterable<Uint8Array> {
  if (name.endsWith('.gz')) return through(content, zlib.createGunzip());
  if (hasZstd) return through(content, zlib.createZstdDecompress());
  throw new TidemarkError(
    'UNSUPPORTED',
    `${name} is compressed with zstd, which this Node cannot read; use Node 22.15 or newer`,
  );
}

async function* through(content: AsyncIterable<Uint8Array>, transform: NodeJS.ReadWriteStream): AsyncGenerator<Buffer> {
  const output = new PassThrough();
  // A failing source or transform also destroys `output`, so the reader throws its error.
  const done = pipeline(Readable.from(content), transform, output);
  done.catch(() => {});
  try {
    for await (const chunk of output) yield chunk as Buffer;
    await done;
  } finally {
    output.destroy();
  }
}
