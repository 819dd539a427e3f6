/** `tidemark/codec`: encryption and compression of payloads, and the interface of custom codecs. */
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
