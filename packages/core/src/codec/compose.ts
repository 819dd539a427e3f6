/** Composes two codecs in the only useful order, because encrypted data cannot be compressed. */
import type { PayloadCodec } from '../contracts/codec.ts';
import { invalidArgument } from '../contracts/errors.ts';

/**
 * Composes two codecs: `first` encodes before `second`, and decodes after it. `first` must not encrypt, for example
 * compression, and `second` must.
 *
 * @throws `INVALID_ARGUMENT` when `first` encrypts or `second` does not.
 *
 * @example
 * const key = crypto.getRandomValues(new Uint8Array(32)); // Load yours from a key store.
 * const codec = composeCodecs(compression(), encryption({ keys: { '2026': key }, current: '2026' }));
 * const store = await open('sqlite:app.db', { codec });
 */
export function composeCodecs(first: PayloadCodec, second: PayloadCodec): PayloadCodec {
  if (first.encrypts) throw invalidArgument('first', 'a codec that does not encrypt: compress first, then encrypt');
  if (!second.encrypts) throw invalidArgument('second', 'a codec that encrypts');
  return {
    encrypts: true,
    formOf: (tenantId) => `${first.formOf(tenantId)} ${second.formOf(tenantId)}`,
    encode: (payload, context) => second.encode(first.encode(payload, context), context),
    decode: (payload, context) => first.decode(second.decode(payload, context), context),
  };
}
