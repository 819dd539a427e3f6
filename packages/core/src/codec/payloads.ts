/** Encodes and decodes every stored payload. Without a codec, only checks whether a stored text is an envelope. */
import { decodeJson } from '../checks/json.ts';
import type { EncodedPayload, PayloadCodec, PayloadContext } from '../contracts/codec.ts';
import { bufferOf, formatEnvelope, isEnvelope, parseEnvelope } from './envelope.ts';
import { codecFailed, payloadDamaged } from './failure.ts';
import { checkedJson, checkedText, hasSum, isSummed, withSum } from './summed-text.ts';

/** The property under which a KV store exposes its payload codec to projections, which store their states in it. */
export const PAYLOADS = Symbol('tidemark.payloads');

export class Payloads {
  readonly codec: PayloadCodec | null;

  constructor(codec: PayloadCodec | null) {
    this.codec = codec;
  }

  /**
   * Returns the text to store for a JSON text. Its checksum, if any, also covers `otherValues`, the other values of the row.
   */
  encode(text: string, context: PayloadContext, otherValues = ''): string {
    const encoded = this.#encode(text, context);
    return isSummed(context) ? withSum(encoded, context, otherValues) : encoded;
  }

  #encode(text: string, context: PayloadContext): string {
    if (this.codec === null) return text;
    const encoded = this.codec.encode(plain(Buffer.from(text)), context);
    return encoded.steps.length === 0 ? text : formatEnvelope(encoded);
  }

  /**
   * Returns the value of a stored text. Throws `CODEC_FAILED` when it cannot be decoded, `CORRUPT_VALUE` on a wrong
   * sum.
   */
  decode<T>(stored: string, context: PayloadContext, otherValues = ''): T {
    if (isSummed(context)) return checkedJson(this.open(stored, context, otherValues), context);
    const text = this.codec === null && !isEnvelope(stored) ? stored : this.open(stored, context);
    try {
      return decodeJson(text);
    } catch (cause) {
      throw payloadDamaged(context, 'it is not JSON', null, cause);
    }
  }

  /** Returns the JSON text of a stored text. Throws like `decode`. */
  open(stored: string, context: PayloadContext, otherValues = ''): string {
    return this.#open(isSummed(context) ? checkedText(stored, context, otherValues) : stored, context);
  }

  /**
   * Throws `CORRUPT_VALUE` when a stored text does not match its sum. Returns whether the text has a sum. Needs no key.
   */
  check(stored: string, context: PayloadContext, otherValues = ''): boolean {
    const text = checkedText(stored, context, otherValues);
    if (hasSum(stored)) return true;
    // A damaged last digit can make a sum look absent. The text is then not valid JSON.
    checkedJson(text, context);
    return false;
  }

  #open(stored: string, context: PayloadContext): string {
    if (isEnvelope(stored)) return bufferOf(this.bytesOf(parseEnvelope(stored, context), context)).toString();
    this.codec?.decode(plain(Buffer.from(stored)), context);
    return stored;
  }

  /** Returns the plain bytes of an encoded payload. */
  bytesOf(encoded: EncodedPayload, context: PayloadContext): Uint8Array {
    const { steps, keyId, data } = this.codec?.decode(encoded, context) ?? encoded;
    if (steps.length === 0) return data;
    const how = `it is encoded by ${steps.join(', ')}${keyId === null ? '' : ` with key ${JSON.stringify(keyId)}`}`;
    throw codecFailed(context, `${how}, and this store was opened without a codec that reads that`, keyId);
  }
}

/** Returns a payload with no codec steps applied. */
export function plain(data: Uint8Array): EncodedPayload {
  return { steps: [], keyId: null, data };
}
