/** The text of an API key, `id.secret`: the id is public and finds the key, and of the secret only a digest is ever stored. */
import { createHash, randomBytes, timingSafeEqual } from 'node:crypto';

const SHAPE = /^(tmk_[0-9a-f]{16})\.([A-Za-z0-9_-]{43})$/;
const ID_BYTES = 8;
const SECRET_BYTES = 32;

export interface KeyText {
  id: string;
  secret: string;
}

/** A new key. */
export function mintKey(): KeyText {
  return {
    id: `tmk_${randomBytes(ID_BYTES).toString('hex')}`,
    secret: randomBytes(SECRET_BYTES).toString('base64url'),
  };
}

/** `null` for what is no key. */
export function parseKey(text: string): KeyText | null {
  const parts = SHAPE.exec(text);
  return parts && { id: parts[1]!, secret: parts[2]! };
}

export function keyText({ id, secret }: KeyText): string {
  return `${id}.${secret}`;
}

/** 256 random bits need no slow hash: nobody can try them all. */
export function digestOf(secret: string): Buffer {
  return createHash('sha256').update(secret).digest();
}

/** Whether a secret has a digest. A digest of another length is nobody's. */
export function hasDigest(secret: string, digest: Uint8Array): boolean {
  return areEqual(digestOf(secret), digest);
}

/** Compares in a time that depends on the length only, not on where two texts begin to differ. */
export function areEqual(one: Uint8Array, other: Uint8Array): boolean {
  return one.length === other.length && timingSafeEqual(one, other);
}
