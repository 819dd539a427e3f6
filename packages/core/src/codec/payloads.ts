/** What every stored payload passes on its way in and out. Without a codec that is nothing but a look at how it begins. */
import { decodeJson } from '../checks/json.ts';
import type { EncodedPayload, PayloadCodec, PayloadContext } from '../contracts/codec.ts';
import { bufferOf, envelopeOf, isEnvelope, parseEnvelope } from './envelope.ts';
import { codecFailed, payloadDamaged } from './failure.ts';
import { checkedJson, checkedText, hasSum, isSummed, withSum } from './summed-text.ts';

/** Where a KV store carries them for projections, which keep their states in it. */
export const PAYLOADS = Symbol('tidemark.payloads');

export class Payloads {
  readonly codec: PayloadCodec | null;

  constructor(codec: PayloadCodec | null) {
    this.codec = codec;
  }

  /** The text to store for a JSON text. Where it carries a sum, that covers `beside` too: values stored beside the text. */
  encode(text: string, place: PayloadContext, beside = ''): string {
    const encoded = this.#encode(text, place);
    return isSummed(place) ? withSum(encoded, place, beside) : encoded;
  }

  #encode(text: string, place: PayloadContext): string {
    if (this.codec === null) return text;
    const encoded = this.codec.encode(plain(Buffer.from(text)), place);
    return encoded.steps.length === 0 ? text : envelopeOf(encoded);
  }

  /** The value of a stored text; `CODEC_FAILED` where it cannot be known, `CORRUPT_VALUE` where it is not what was stored. */
  decode<T>(stored: string, place: PayloadContext, beside = ''): T {
    if (isSummed(place)) return checkedJson(this.open(stored, place, beside), place);
    const text = this.codec === null && !isEnvelope(stored) ? stored : this.open(stored, place);
    try {
      return decodeJson(text);
    } catch (cause) {
      throw payloadDamaged(place, 'it is not JSON', null, cause);
    }
  }

  /** The JSON text of a stored text. */
  open(stored: string, place: PayloadContext, beside = ''): string {
    return this.#open(isSummed(place) ? checkedText(stored, place, beside) : stored, place);
  }

  /** Throws `CORRUPT_VALUE` when a stored text does not match its sum; returns whether it has one. Needs no key. */
  check(stored: string, place: PayloadContext, beside = ''): boolean {
    const text = checkedText(stored, place, beside);
    if (hasSum(stored)) return true;
    // What seems to have no sum may have lost its last digit: then it is no JSON.
    checkedJson(text, place);
    return false;
  }

  #open(stored: string, place: PayloadContext): string {
    if (isEnvelope(stored)) return bufferOf(this.bytesOf(parseEnvelope(stored, place), place)).toString();
    this.codec?.decode(plain(Buffer.from(stored)), place);
    return stored;
  }

  /** The plain bytes of an encoded payload. */
  bytesOf(encoded: EncodedPayload, place: PayloadContext): Uint8Array {
    const { steps, keyId, data } = this.codec?.decode(encoded, place) ?? encoded;
    if (steps.length === 0) return data;
    const how = `it is encoded by ${steps.join(', ')}${keyId === null ? '' : ` with key ${JSON.stringify(keyId)}`}`;
    throw codecFailed(place, `${how}, and this store was opened without a codec that reads that`, keyId);
  }
}

/** A payload nothing has been done to. */
export function plain(data: Uint8Array): EncodedPayload {
  return { steps: [], keyId: null, data };
}
