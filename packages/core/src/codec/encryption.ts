/**
 * A codec that encrypts with AES-256-GCM. Each payload is authenticated together with its tenant and context, so that a
 * payload that was altered or moved elsewhere is rejected.
 */
import {
  createCipheriv,
  createDecipheriv,
  createSecretKey,
  KeyObject,
  randomFillSync,
  type webcrypto,
} from 'node:crypto';
import { checkId } from '../checks/text.ts';
import type { EncodedPayload, PayloadCodec, PayloadContext } from '../contracts/codec.ts';
import { invalidArgument } from '../contracts/errors.ts';
import { codecFailed, payloadDamaged } from './failure.ts';

const CIPHER = 'aes-256-gcm';
const KEY_BYTES = 32;
const IV_BYTES = 12;
const TAG_BYTES = 16;

/**
 * A key of 32 bytes, as bytes or as a key object. It is imported once, so later changes to the bytes have no effect.
 */
export type EncryptionKey = Uint8Array | KeyObject | webcrypto.CryptoKey;

/** Encryption keys by id. */
export interface KeyRing {
  /** All keys that stored payloads may need. */
  keys: Readonly<Record<string, EncryptionKey>>;
  /** The id of the key that encrypts new payloads. */
  current: string;
}

/** Options of `encryption`: one key ring for all tenants, or one per tenant. */
export type EncryptionOptions = {
  /**
   * Whether to reject stored payloads that are not encrypted. Default true; set false while a store is being migrated.
   */
  required?: boolean;
} & (
  | KeyRing
  | {
      /**
       * Returns the keys of a tenant, or `null` when the tenant has no keys or they were destroyed. Called
       * synchronously for every payload, so keep the keys in memory.
       */
      keyFor: (tenantId: string) => KeyRing | null;
    }
);

/**
 * Creates a codec that encrypts every payload with AES-256-GCM. Keep old keys in the ring as long as payloads encrypted
 * with them are stored. Reading or writing a payload fails with `CODEC_FAILED` while its key is missing.
 *
 * @throws `INVALID_ARGUMENT` when a key is not a secret key of 32 bytes or `current` is not one of the keys.
 *
 * @example
 * const key = crypto.getRandomValues(new Uint8Array(32)); // Load yours from a key store.
 * const codec = encryption({ keys: { '2026': key }, current: '2026' });
 * const store = await open('sqlite:app.db', { codec });
 * await store.runs.handle('order-42').append('RunStarted', { card: '4242' }); // Stored encrypted.
 */
export function encryption(options: EncryptionOptions): PayloadCodec {
  const required = options.required ?? true;
  const ringOf = keyRings(options);
  return {
    encrypts: true,
    formOf: (tenantId) => `${CIPHER}:${ringOf(tenantId)?.current}`,

    encode(payload, context) {
      const ring = ringOf(context.tenantId);
      if (ring === null) throw codecFailed(context, 'its tenant has no key', null);
      return seal(payload, ring, context);
    },

    decode(payload, context) {
      if (payload.steps.at(-1) === CIPHER) return unseal(payload, ringOf(context.tenantId), context);
      if (required) throw codecFailed(context, 'it is stored without encryption, which is required', null);
      return payload;
    },
  };
}

function keyRings(options: EncryptionOptions): (tenantId: string) => KeyRing | null {
  if ('keyFor' in options) {
    const { keyFor } = options;
    if (typeof keyFor !== 'function') throw invalidArgument('keyFor', 'a function from a tenant to its keys', keyFor);
    return keyFor;
  }
  const ring = { keys: { ...options.keys }, current: checkId(options.current, 'current') };
  for (const [keyId, key] of Object.entries(ring.keys)) toKeyObject(key, `keys.${keyId}`);
  if (!Object.hasOwn(ring.keys, ring.current)) throw invalidArgument('current', 'the id of one of the keys');
  return () => ring;
}

function seal({ steps, data }: EncodedPayload, ring: KeyRing, context: PayloadContext): EncodedPayload {
  const keyId = ring.current;
  const key = findKey(ring, keyId);
  if (key === null) throw codecFailed(context, `key ${JSON.stringify(keyId)} is not in the key ring`, keyId);
  const sealed = Buffer.allocUnsafe(IV_BYTES + TAG_BYTES + data.length);
  const iv = randomFillSync(sealed.subarray(0, IV_BYTES));
  const after = [...steps, CIPHER];
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(additionalData(context, after, keyId));
  sealed.set(cipher.update(data), IV_BYTES + TAG_BYTES);
  cipher.final();
  sealed.set(cipher.getAuthTag(), IV_BYTES);
  return { steps: after, keyId, data: sealed };
}

function unseal({ steps, keyId, data }: EncodedPayload, ring: KeyRing | null, context: PayloadContext): EncodedPayload {
  if (ring === null) throw codecFailed(context, 'its tenant has no key', keyId);
  const key = keyId === null ? null : findKey(ring, keyId);
  if (keyId === null || key === null)
    throw codecFailed(context, `key ${JSON.stringify(keyId)} is not in the key ring`, keyId);
  try {
    const decipher = createDecipheriv(CIPHER, key, data.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(additionalData(context, steps, keyId));
    decipher.setAuthTag(data.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    const opened = decipher.update(data.subarray(IV_BYTES + TAG_BYTES));
    decipher.final();
    return { steps: steps.slice(0, -1), keyId: null, data: opened };
  } catch (cause) {
    const why = 'it was altered, moved from another record, or encrypted with another key of that id';
    throw payloadDamaged(context, why, keyId, cause);
  }
}

/** Returns the additional authenticated data. JSON keeps its parts distinct. The format cannot change once released. */
function additionalData({ tenantId, kind, owner, item }: PayloadContext, steps: readonly string[], keyId: string) {
  return Buffer.from(JSON.stringify(['tidemark-payload-1', tenantId, kind, owner, item ?? null, steps, keyId]));
}

function findKey(ring: KeyRing, keyId: string): KeyObject | null {
  return Object.hasOwn(ring.keys, keyId) ? toKeyObject(ring.keys[keyId]!, `keys.${keyId}`) : null;
}

/** Cache of KeyObjects: creating a cipher from a KeyObject takes a third of the time it takes from raw bytes. */
const keyObjects = new WeakMap<EncryptionKey, KeyObject>();

function toKeyObject(key: EncryptionKey, field: string): KeyObject {
  const known = keyObjects.get(key);
  if (known) return known;
  const object = importKey(key);
  // The error must not contain the key.
  if (object?.type !== 'secret' || object.symmetricKeySize !== KEY_BYTES)
    throw invalidArgument(field, `a secret key of ${KEY_BYTES} bytes`);
  keyObjects.set(key, object);
  return object;
}

function importKey(key: unknown): KeyObject | null {
  if (key instanceof KeyObject) return key;
  if (key instanceof Uint8Array) return createSecretKey(key);
  return key instanceof globalThis.CryptoKey ? KeyObject.from(key) : null;
}
