/** `tidemark/codec`: encryption and compression of payloads, and what a codec of your own implements. */
export {
  composeCodecs,
  compression,
  type EncodedPayload,
  type EncryptionKey,
  type EncryptionOptions,
  encryption,
  type KeyRing,
  type PayloadCodec,
  type PayloadKind,
  type PayloadPlace,
} from '@tidemark/core';
