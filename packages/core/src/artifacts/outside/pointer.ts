/**
 * The value that an engine stores instead of bytes that are stored elsewhere: the name of their object, and a checksum
 * per chunk.
 */
import { TidemarkError } from '../../contracts/errors.ts';
import { CHUNK_BYTES } from '../../engine/artifacts.ts';

const START = '{"tidemarkObject":1,';
const NEWLINE = 10;

export interface Pointer {
  /** The name of the object within its tenant. */
  object: string;
  /** The hash under which the engine stores the pointer. */
  sha256: string;
  sizeBytes: number;
  /** The checksums of all chunks. */
  sums: Uint8Array;
}

/**
 * Encodes a pointer as one chunk. Throws `PAYLOAD_TOO_LARGE` if there are too many chunks, which begins at about 17 GB.
 */
export function encodePointer({ object, sha256, sizeBytes, sums }: Pointer): Uint8Array {
  const about = JSON.stringify({ object, sha256, sizeBytes });
  const bytes = Buffer.concat([Buffer.from(`${START}${about.slice(1)}\n`), sums]);
  if (bytes.length <= CHUNK_BYTES) return bytes;
  throw new TidemarkError('PAYLOAD_TOO_LARGE', 'An artifact outside the engine can have at most 17 GB', {
    field: 'chunks',
    rule: 'at most 17 GB',
  });
}

/**
 * Decodes a pointer, or returns `null` for other bytes. A pointer contains the hash under which it is stored, so that
 * an artifact's bytes cannot be mistaken for a pointer: they would have to contain their own hash.
 */
export function decodePointer(bytes: Uint8Array, sha256: string): Pointer | null {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.length, START.length)).toString('latin1');
  if (text !== START) return null;
  const end = bytes.indexOf(NEWLINE);
  if (end === -1) return null;
  try {
    const about = JSON.parse(Buffer.from(bytes.subarray(0, end)).toString()) as Pointer;
    return about.sha256 === sha256 ? { ...about, sums: bytes.slice(end + 1) } : null;
  } catch {
    return null;
  }
}
