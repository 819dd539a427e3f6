/**
 * A codec that encrypts with AES-256-GCM. Tenant and place are authenticated with each payload, so that one that was
 * altered, or moved to where it does not belong, is refused and never read.
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

/** 32 bytes, as they are or inside a key object; they are read once. */
export type EncryptionKey = Uint8Array | KeyObject | webcrypto.CryptoKey;

/** Keys by their ids. */
export interface KeyRing {
  /** All keys that stored payloads may need. */
  keys: Readonly<Record<string, EncryptionKey>>;
  /** The id of the one that new payloads get. */
  current: string;
}

/** The keys, the same for all tenants or each tenant's own. */
export type EncryptionOptions = {
  /** Whether a stored payload that is not encrypted is refused. Default true; false while a store is being moved over. */
  required?: boolean;
} & (
  | KeyRing
  | {
      /** The keys of a tenant; `null` when it has none, or none any more. Called for each payload: it answers from memory. */
      keyFor: (tenantId: string) => KeyRing | null;
    }
);

/**
 * Encrypts every payload.
 *
 * @example
 * const codec = encryption({ keys: { '2025': old, '2026': key }, current: '2026' });
 * const store = await open('postgres://…', { codec });
 */
export function encryption(options: EncryptionOptions): PayloadCodec {
  const required = options.required ?? true;
  const ringOf = ringsOf(options);
  return {
    encrypts: true,
    formOf: (tenantId) => `${CIPHER}:${ringOf(tenantId)?.current}`,

    encode(payload, place) {
      const ring = ringOf(place.tenantId);
      if (ring === null) throw codecFailed(place, 'its tenant has no key', null);
      return seal(payload, ring, place);
    },

    decode(payload, place) {
      if (payload.steps.at(-1) === CIPHER) return unseal(payload, ringOf(place.tenantId), place);
      if (required) throw codecFailed(place, 'it is stored without encryption, which is required', null);
      return payload;
    },
  };
}

function ringsOf(options: EncryptionOptions): (tenantId: string) => KeyRing | null {
  if ('keyFor' in options) {
    const { keyFor } = options;
    if (typeof keyFor !== 'function') throw invalidArgument('keyFor', 'a function from a tenant to its keys', keyFor);
    return keyFor;
  }
  const ring = { keys: { ...options.keys }, current: checkId(options.current, 'current') };
  for (const [keyId, key] of Object.entries(ring.keys)) keyObjectOf(key, `keys.${keyId}`);
  if (!Object.hasOwn(ring.keys, ring.current)) throw invalidArgument('current', 'the id of one of the keys');
  return () => ring;
}

function seal({ steps, data }: EncodedPayload, ring: KeyRing, place: PayloadContext): EncodedPayload {
  const keyId = ring.current;
  const key = keyOf(ring, keyId);
  if (key === null) throw codecFailed(place, `key ${JSON.stringify(keyId)} is not in the key ring`, keyId);
  const sealed = Buffer.allocUnsafe(IV_BYTES + TAG_BYTES + data.length);
  const iv = randomFillSync(sealed.subarray(0, IV_BYTES));
  const after = [...steps, CIPHER];
  const cipher = createCipheriv(CIPHER, key, iv, { authTagLength: TAG_BYTES });
  cipher.setAAD(boundTo(place, after, keyId));
  sealed.set(cipher.update(data), IV_BYTES + TAG_BYTES);
  cipher.final();
  sealed.set(cipher.getAuthTag(), IV_BYTES);
  return { steps: after, keyId, data: sealed };
}

function unseal({ steps, keyId, data }: EncodedPayload, ring: KeyRing | null, place: PayloadContext): EncodedPayload {
  if (ring === null) throw codecFailed(place, 'its tenant has no key', keyId);
  const key = keyId === null ? null : keyOf(ring, keyId);
  if (keyId === null || key === null)
    throw codecFailed(place, `key ${JSON.stringify(keyId)} is not in the key ring`, keyId);
  try {
    const decipher = createDecipheriv(CIPHER, key, data.subarray(0, IV_BYTES), { authTagLength: TAG_BYTES });
    decipher.setAAD(boundTo(place, steps, keyId));
    decipher.setAuthTag(data.subarray(IV_BYTES, IV_BYTES + TAG_BYTES));
    const opened = decipher.update(data.subarray(IV_BYTES + TAG_BYTES));
    decipher.final();
    return { steps: steps.slice(0, -1), keyId: null, data: opened };
  } catch (cause) {
    const why = 'it was altered, moved from another place, or encrypted with another key of that id';
    throw payloadDamaged(place, why, keyId, cause);
  }
}

/** What is authenticated with the bytes: JSON keeps the parts apart. The form cannot change once released. */
function boundTo({ tenantId, kind, owner, item }: PayloadContext, steps: readonly string[], keyId: string) {
  return Buffer.from(JSON.stringify(['tidemark-payload-1', tenantId, kind, owner, item ?? null, steps, keyId]));
}

function keyOf(ring: KeyRing, keyId: string): KeyObject | null {
  return Object.hasOwn(ring.keys, keyId) ? keyObjectOf(ring.keys[keyId]!, `keys.${keyId}`) : null;
}

/** Keys that were met already: to begin with a key object takes a third of the time that bytes take. */
const keyObjects = new WeakMap<EncryptionKey, KeyObject>();

function keyObjectOf(key: EncryptionKey, field: string): KeyObject {
  const known = keyObjects.get(key);
  if (known) return known;
  const object = importKey(key);
  // The refusal never shows the key.
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
