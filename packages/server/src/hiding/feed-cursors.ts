/**
 * Feed cursors as tenants see them. An engine's cursor is a position among the events of all tenants. Encryption hides
 * how many events other tenants have.
 */
import { createCipheriv, createDecipheriv, createHmac, timingSafeEqual } from 'node:crypto';
import { invalidArgument, type TidemarkError } from '@tidemark/core';
import type { Secret } from './secret.ts';

const IV_BYTES = 16;
/** The length of a cursor is padded to a multiple of this, because it would otherwise reveal the number of digits. */
const PAD_TO = 32;
const PREFIX = 'c1.';

/** Encrypts cursors of the store for a caller, and decrypts them. */
export interface CursorCipher {
  hide(cursor: string): string;
  /** Throws `INVALID_ARGUMENT` for a cursor that was not issued to this caller. */
  show(text: string): string;
}

const PLAIN: CursorCipher = { hide: (cursor) => cursor, show: (text) => text };

export class FeedCursors {
  readonly #secret: Secret | null;
  readonly #acceptsOld: boolean;

  /** `secret` is `null` if the server has no auth, because then there are no tenants to hide positions from. */
  constructor(secret: Secret | null, acceptsOld: boolean) {
    this.#secret = secret;
    this.#acceptsOld = acceptsOld;
  }

  /** Returns the cipher of a tenant. Operators see plain cursors. */
  async of(tenantId: string | null): Promise<CursorCipher> {
    if (tenantId === null || this.#secret === null) return PLAIN;
    const keyFor = (purpose: string) => this.#secret!.keyFor(purpose, tenantId);
    return new TenantCipher(await keyFor('mac'), await keyFor('key'), this.#acceptsOld);
  }
}

/**
 * Encrypts cursors with an initialization vector that is derived from the cursor, so that the same cursor always yields
 * the same text.
 */
class TenantCipher implements CursorCipher {
  readonly #mac: Buffer;
  readonly #key: Buffer;
  readonly #acceptsOld: boolean;

  constructor(mac: Buffer, key: Buffer, acceptsOld: boolean) {
    this.#mac = mac;
    this.#key = key;
    this.#acceptsOld = acceptsOld;
  }

  hide(cursor: string): string {
    const bytes = Buffer.byteLength(cursor);
    const padded = Buffer.alloc(Math.ceil((bytes + 1) / PAD_TO) * PAD_TO);
    padded.write(cursor);
    const iv = this.#ivOf(padded);
    const cipher = createCipheriv('aes-256-ctr', this.#key, iv);
    return PREFIX + Buffer.concat([iv, cipher.update(padded), cipher.final()]).toString('base64url');
  }

  show(text: string): string {
    if (this.#acceptsOld && !text.startsWith(PREFIX)) return text;
    const bytes = Buffer.from(text.slice(PREFIX.length), 'base64url');
    const iv = bytes.subarray(0, IV_BYTES);
    if (!text.startsWith(PREFIX) || bytes.length <= IV_BYTES) throw foreign(text);
    const decipher = createDecipheriv('aes-256-ctr', this.#key, iv);
    const padded = Buffer.concat([decipher.update(bytes.subarray(IV_BYTES)), decipher.final()]);
    if (!timingSafeEqual(this.#ivOf(padded), iv)) throw foreign(text);
    return padded.toString('utf8', 0, padded.indexOf(0));
  }

  #ivOf(padded: Buffer): Buffer {
    return createHmac('sha256', this.#mac).update(padded).digest().subarray(0, IV_BYTES);
  }
}

function foreign(text: string): TidemarkError {
  return invalidArgument('cursor', 'a cursor that this server gave to this tenant', text);
}
