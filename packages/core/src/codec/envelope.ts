/** The stored form of an encoded payload: a JSON object with one reserved member, which engines store unchanged. */
import { RESERVED_MEMBER } from '../checks/json.ts';
import type { EncodedPayload, PayloadContext } from '../contracts/codec.ts';
import { payloadDamaged } from './failure.ts';

const OPENING = `{"${RESERVED_MEMBER}":`;

/**
 * Whether a stored text is an envelope. Payloads of callers never start like one, because writes reject the reserved
 * member.
 */
export function isEnvelope(text: string): boolean {
  return text.startsWith(OPENING);
}

export function formatEnvelope({ steps, keyId, data }: EncodedPayload): string {
  const key = keyId === null ? '' : `"key":${JSON.stringify(keyId)},`;
  return `${OPENING}{"steps":${JSON.stringify(steps)},${key}"data":"${bufferOf(data).toString('base64')}"}}`;
}

/** Parses an envelope. Throws `CODEC_FAILED` for a damaged one. */
export function parseEnvelope(text: string, context: PayloadContext): EncodedPayload {
  try {
    const { steps, key = null, data } = JSON.parse(text)[RESERVED_MEMBER];
    if (isSteps(steps) && (key === null || typeof key === 'string') && typeof data === 'string') {
      return { steps, keyId: key, data: Buffer.from(data, 'base64') };
    }
  } catch {
    // Falls through to the error below.
  }
  throw payloadDamaged(context, 'its stored form is damaged', null);
}

export function isSteps(steps: unknown): steps is string[] {
  return Array.isArray(steps) && steps.every((step) => typeof step === 'string');
}

/** Returns a Buffer over the same bytes, without copying. */
export function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
