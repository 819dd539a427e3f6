/** SHA-256 helpers. Tidemark uses no other hash. */
import { hash } from 'node:crypto';

/**
 * A SHA-256 hash as a string of 32 Latin-1 characters. Node returns a hash as a string four times as fast as a buffer,
 * and strings compare with `===`. `digestBytes` and `digestOf` convert to and from bytes.
 */
export type Digest = string;

export function sha256(data: string | Uint8Array): Digest {
  return hash('sha256', data, 'binary');
}

export function sha256Hex(data: string | Uint8Array): string {
  return hash('sha256', data);
}

export function digestBytes(digest: Digest): Buffer {
  return Buffer.from(digest, 'latin1');
}

/** Returns a digest in Base64. Its characters are bytes, which is what `btoa` takes. */
export function digestBase64(digest: Digest): string {
  return btoa(digest);
}

/**
 * Converts stored bytes to a digest. Anything but bytes, as in a damaged file, becomes `''`, which equals no digest.
 */
export function digestOf(bytes: unknown): Digest {
  if (!(bytes instanceof Uint8Array)) return '';
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
