/** The stored form of an encoded payload: a JSON object with one reserved member, which every engine keeps as it is. */
import { RESERVED_MEMBER } from '../checks/json.ts';
import type { EncodedPayload, PayloadContext } from '../contracts/codec.ts';
import { payloadDamaged } from './failure.ts';

const OPENING = `{"${RESERVED_MEMBER}":`;

/** Whether a stored text is an envelope. No payload of a caller begins so: the member is refused on the way in. */
export function isEnvelope(text: string): boolean {
  return text.startsWith(OPENING);
}

export function envelopeOf({ steps, keyId, data }: EncodedPayload): string {
  const key = keyId === null ? '' : `"key":${JSON.stringify(keyId)},`;
  return `${OPENING}{"steps":${JSON.stringify(steps)},${key}"data":"${bufferOf(data).toString('base64')}"}}`;
}

/** What an envelope holds; one that is damaged is refused. */
export function parseEnvelope(text: string, place: PayloadContext): EncodedPayload {
  try {
    const { steps, key = null, data } = JSON.parse(text)[RESERVED_MEMBER];
    if (isSteps(steps) && (key === null || typeof key === 'string') && typeof data === 'string') {
      return { steps, keyId: key, data: Buffer.from(data, 'base64') };
    }
  } catch {
    // Falls through: an envelope that does not parse is as damaged as one without its parts.
  }
  throw payloadDamaged(place, 'its stored form is damaged', null);
}

export function isSteps(steps: unknown): steps is string[] {
  return Array.isArray(steps) && steps.every((step) => typeof step === 'string');
}

/** The same bytes as a buffer, without a copy. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
