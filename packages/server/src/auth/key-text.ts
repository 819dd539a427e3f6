/**
 * The text of an API key, `id.secret`. The id is public and is used to look up the key. Only a digest of the secret is
 * stored.
 */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const SHAPE = /^(tmk_[0-9a-f]{16})\.([A-Za-z0-9_-]{43})$/;
const ID_BYTES = 8;
const SECRET_BYTES = 32;

export interface KeyText {
  id: string;
  secret: string;
}

/** Creates a key. */
export function mintKey(): KeyText {
  return {
    id: `tmk_${randomBytes(ID_BYTES).toString('hex')}`,
    secret: randomBytes(SECRET_BYTES).toString('base64url'),
  };
}

/** Parses a key, or returns `null` for other text. */
export function parseKey(text: string): KeyText | null {
  const parts = SHAPE.exec(text);
  return parts && { id: parts[1]!, secret: parts[2]! };
}

export function keyText({ id, secret }: KeyText): string {
  return `${id}.${secret}`;
}

/** Returns the digest of a secret. A slow hash is not needed, because 256 random bits cannot be guessed. */
export function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Whether a secret matches a digest. */
export function hasDigest(secret: string, digest: Uint8Array): boolean {
  return areEqual(digestOf(secret), digest);
}

/** Compares two byte arrays, in constant time if their lengths are equal. */
export function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
