/** SHA-256, the only hash of Tidemark, in the forms it is needed. */
import { hash } from 'node:crypto';

/**
 * The 32 bytes of a hash as a text of 32 Latin-1 characters. Node gives a hash as text four times as fast as a
 * buffer, and texts compare at once; `digestBytes` and `digestOf` convert at the edges.
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

/** The digest of stored bytes; what is none, in a damaged file for example, equals no digest. */
export function digestOf(bytes: unknown): Digest {
  if (!(bytes instanceof Uint8Array)) return '';
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('latin1');
}
