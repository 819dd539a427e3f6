/**
 * Feed cursors as tenants see them. An engine's cursor is a position among the events of all tenants. Encryption hides
 * how many events other tenants have. The key is in the store, so that all servers of the store can read each other's
 * cursors.
 */
import { createCipheriv, createDecipheriv, createHmac, randomBytes, timingSafeEqual } from 'node:crypto';
import { invalidArgument, type Store, TidemarkError, textOf } from '@tidemark/core';
import { SYSTEM_TENANT } from '../auth/system-tenant.ts';

const RECORD = 'server/cursor-key';
const FIELD = 'key';
const KEY_BYTES = 32;
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
  readonly #store: Store | null;
  readonly #acceptsOld: boolean;
  #secret: Promise<Buffer> | undefined;

  /** `store` is `null` if there are no tenants from whom positions must be hidden. */
  constructor(store: Store | null, acceptsOld: boolean) {
    this.#store = store;
    this.#acceptsOld = acceptsOld;
  }

  /** Returns the cipher of a tenant. Operators see plain cursors. */
  async of(tenantId: string | null): Promise<CursorCipher> {
    if (tenantId === null || this.#store === null) return PLAIN;
    this.#secret ??= readSecret(this.#store).catch((error) => {
      this.#secret = undefined;
      throw error;
    });
    return new TenantCipher(await this.#secret, tenantId, this.#acceptsOld);
  }
}

/** Reads the key. The first server of a store creates the key; if another server was faster, its key is used. */
async function readSecret(store: Store): Promise<Buffer> {
  const { kv } = store.forTenant(SYSTEM_TENANT);
  const made = { [FIELD]: randomBytes(KEY_BYTES).toString('base64') };
  const there = await kv.get(RECORD);
  const { record } = there ? { record: there } : await kv.swap(RECORD, { expectedRevision: 0, set: made });
  const secret = Buffer.from(textOf(record?.fields[FIELD]) ?? '', 'base64');
  if (secret.length === KEY_BYTES) return secret;
  throw new TidemarkError('STORAGE_ERROR', 'The key of feed cursors is not one that Tidemark wrote');
}

/**
 * Encrypts cursors with an initialization vector that is derived from the cursor, so that the same cursor always yields
 * the same text.
 */
class TenantCipher implements CursorCipher {
  readonly #mac: Buffer;
  readonly #key: Buffer;
  readonly #acceptsOld: boolean;

  constructor(secret: Buffer, tenantId: string, acceptsOld: boolean) {
    this.#mac = createHmac('sha256', secret).update(`mac ${tenantId}`).digest();
    this.#key = createHmac('sha256', secret).update(`key ${tenantId}`).digest();
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
