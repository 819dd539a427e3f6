/** A codec that makes large payloads smaller. */
import { brotliCompressSync, brotliDecompressSync, constants } from 'node:zlib';
import { checkInteger } from '../checks/numbers.ts';
import type { PayloadCodec } from '../contracts/codec.ts';
import { payloadDamaged } from './failure.ts';

const STEP = 'brotli';
const DEFAULT_ABOVE = 1_024;
/** What saves less is stored as it is: as text, encoded bytes grow by a third again. */
const WORTHWHILE = 0.7;
/** Higher qualities save a few more percent and take three to seven times as long. */
const QUALITY = { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } };

/** More than any payload may have: a few bytes that were made for it could unfold to more than there is memory. */
const BOUND = { maxOutputLength: 64 * 1024 * 1024 };

/**
 * Compresses payloads that are larger than `above` bytes, by default 1 024, where that saves at least 30 %.
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

    decode(payload, place) {
      if (payload.steps.at(-1) !== STEP) return payload;
      try {
        return { ...payload, steps: payload.steps.slice(0, -1), data: brotliDecompressSync(payload.data, BOUND) };
      } catch (cause) {
        throw payloadDamaged(place, 'its compressed form is damaged', payload.keyId, cause);
      }
    },
  };
}
