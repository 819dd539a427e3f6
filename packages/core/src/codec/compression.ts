/** A codec that compresses large payloads. */
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { checkInteger } from '../checks/numbers.ts';
import type { PayloadCodec } from '../contracts/codec.ts';
import { payloadDamaged } from './failure.ts';

const STEP = 'brotli';
const DEFAULT_ABOVE = 1_024;
/**
 * The largest useful ratio. Payloads that compress less are stored unchanged, because base64 makes the bytes a third
 * larger.
 */
const WORTHWHILE = 0.7;
/** Higher qualities save a few percent more and take three to seven times as long. */
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** Above the size of any payload. Without this limit, a crafted payload of a few bytes could exhaust the memory. */
const LIMIT = { maxOutputLength: 64 * 1024 * 1024 };

/**
 * Creates a codec that compresses payloads larger than `above` bytes, by default 1 024, if that saves at least 30 %.
 * Other payloads are stored unchanged.
 *
 * @throws `INVALID_ARGUMENT` when `above` is not an integer of at least 0.
 *
 * @example
 * const store = await open('sqlite:app.db', { codec: compression() });
 */
export function compression(options: { above?: number } = {}): PayloadCodec {
  const above = checkInteger(options.above ?? DEFAULT_ABOVE, 'above', 0);
  return {
    encrypts: false,
    formOf: () => STEP,

    encode(payload) {
      if (payload.data.length <= above) return payload;
      const data = brotliCompressSync(payload.data, QUALITY);
      return data.length > payload.data.length * WORTHWHILE
        ? payload
        : { ...payload, steps: [...payload.steps, STEP], data };
    },

    decode(payload, context) {
      if (payload.steps.at(-1) !== STEP) return payload;
      try {
        return { ...payload, steps: payload.steps.slice(0, -1), data: brotliDecompressSync(payload.data, LIMIT) };
      } catch (cause) {
        throw payloadDamaged(context, 'its compressed form is damaged', payload.keyId, cause);
      }
    },
  };
}
