/**
 * The stored form of a sealed KV value: a marker, the length of a header, the header as JSON, the encoded bytes. A
 * plain value that starts with the marker is stored in the same form without steps, so no caller can make a value look
 * sealed. The marker starts with a byte that UTF-8 text never has.
 */
import type { EncodedPayload, PayloadContext } from '../contracts/codec.ts';
import { bufferOf, isSteps } from './envelope.ts';
import { payloadDamaged } from './failure.ts';
import { plain } from './payloads.ts';

const MARKER = Buffer.from('\xfftidemark\xfe', 'latin1');
const HEADER_AT = MARKER.length + 2;

/** Whether a stored value has the form above. All others are plain. */
export function isMarked(bytes: Uint8Array): boolean {
  return (
    bytes[0] === MARKER[0] && bytes.length >= MARKER.length && MARKER.equals(bufferOf(bytes).subarray(0, MARKER.length))
  );
}

export function formatSealed({ steps, keyId, data }: EncodedPayload): Uint8Array {
  const header = Buffer.from(JSON.stringify({ steps, key: keyId }));
  const length = Buffer.alloc(2);
  length.writeUInt16BE(header.length);
  return Buffer.concat([MARKER, length, header, data]);
}

/** Returns the bytes to store for a value that is not sealed. */
export function plainForm(value: Uint8Array): Uint8Array {
  return isMarked(value) ? formatSealed(plain(value)) : value;
}

/** Parses a stored value. A value without steps is plain. Throws `CODEC_FAILED` for a damaged header. */
export function parseStored(bytes: Uint8Array, context: PayloadContext): EncodedPayload {
  if (!isMarked(bytes)) return plain(bytes);
  const parsed = parseMarked(bufferOf(bytes));
  if (parsed) return parsed;
  throw payloadDamaged(context, 'its stored form is damaged', null);
}

/** Whether a stored value is sealed. A damaged one counts as sealed. */
export function isSealedValue(bytes: Uint8Array): boolean {
  return isMarked(bytes) && parseMarked(bufferOf(bytes))?.steps.length !== 0;
}

/** Returns the bytes that readers receive for a value that is not sealed. */
export function plainOf(bytes: Uint8Array): Uint8Array {
  return isMarked(bytes) ? (parseMarked(bufferOf(bytes))?.data ?? bytes) : bytes;
}

function parseMarked(bytes: Buffer): EncodedPayload | null {
  try {
    const dataAt = HEADER_AT + bytes.readUInt16BE(MARKER.length);
    const { steps, key } = JSON.parse(bytes.subarray(HEADER_AT, dataAt).toString());
    if (!isSteps(steps) || (key !== null && typeof key !== 'string')) return null;
    return { steps, keyId: key, data: bytes.subarray(dataAt) };
  } catch {
    return null;
  }
}
