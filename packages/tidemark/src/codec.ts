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
  type PayloadContext,
  type PayloadKind,
} from '@tidemark/core';
