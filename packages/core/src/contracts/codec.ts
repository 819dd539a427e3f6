/** The payload codec: encodes payloads before they are stored and decodes them when they are read. */

/** The kind of data that a payload holds. */
export type PayloadKind =
  | 'event'
  | 'snapshot'
  | 'projection'
  | 'flow-event'
  | 'planner-event'
  | 'pause'
  | 'pause-reason'
  | 'memory'
  | 'task'
  | 'update'
  | 'steering'
  | 'trajectory'
  | 'kv-field'
  | 'binding'
  | 'artifact'
  | 'artifact-bytes';

/** Where a payload is stored. Encryption binds the payload to this context: it cannot be decrypted in another one. */
export interface PayloadContext {
  tenantId: string;
  kind: PayloadKind;
  /**
   * The owner: the id of a run, trace, session or artifact, the hash of a token, or the key of a memory state or
   * record.
   */
  owner: string;
  /** The item of the owner, if it has several: the key of an event, the id of an update, the field of a record. */
  item?: string;
}

/** A payload and the steps that encoded it. A payload without steps is plain. */
export interface EncodedPayload {
  /** The steps that were applied, in order: `['brotli', 'aes-256-gcm']`. */
  steps: readonly string[];
  /** The id of the encryption key, or `null`. */
  keyId: string | null;
  data: Uint8Array;
}

/** One or more encoding steps. Both directions are synchronous and do not modify their arguments. */
export interface PayloadCodec {
  /** Whether stored payloads are unreadable without a key. */
  readonly encrypts: boolean;
  /**
   * Returns the form in which it currently stores a tenant's payloads, including the key id. Artifacts that are stored
   * in different forms do not share their bytes.
   */
  formOf(tenantId: string): string;
  /** Returns the payload with a step added, or unchanged. */
  encode(payload: EncodedPayload, context: PayloadContext): EncodedPayload;
  /**
   * Reverses `encode`. If another codec added the last step of the payload, returns the payload unchanged or throws.
   *
   * @throws `CODEC_FAILED` if the payload cannot be decoded.
   */
  decode(payload: EncodedPayload, context: PayloadContext): EncodedPayload;
}
