/** Two codecs as one, in the only order that works: what is encrypted cannot be compressed any more. */
import type { PayloadCodec } from '../contracts/codec.ts';
import { invalidArgument } from '../contracts/errors.ts';

/**
 * Compresses first, then encrypts; reads in the reverse order.
 *
 * @example
 * const codec = composeCodecs(compression(), encryption({ keys: { '2026': key }, current: '2026' }));
 */
export function composeCodecs(first: PayloadCodec, second: PayloadCodec): PayloadCodec {
  if (first.encrypts) throw invalidArgument('first', 'a codec that does not encrypt: compress first, then encrypt');
  if (!second.encrypts) throw invalidArgument('second', 'a codec that encrypts');
  return {
    encrypts: true,
    formOf: (tenantId) => `${first.formOf(tenantId)} ${second.formOf(tenantId)}`,
    encode: (payload, place) => second.encode(first.encode(payload, place), place),
    decode: (payload, place) => first.decode(second.decode(payload, place), place),
  };
}
