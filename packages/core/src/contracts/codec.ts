/** The payload codec: what payloads pass on their way to an engine and back, such as compression and encryption. */

/** What is encoded. */
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
  | 'artifact'
  | 'artifact-bytes';

/** Where a payload is kept. Encryption binds it to its place: moved elsewhere, it cannot be read. */
export interface PayloadContext {
  tenantId: string;
  kind: PayloadKind;
  /** What it belongs to: the id of a run, trace, session or artifact, the hash of a token, the key of a memory state. */
  owner: string;
  /** Which of the owner's it is, where there are several: the key of an event, the id of an update. */
  item?: string;
}

/** A payload between two steps; one without steps is plain. */
export interface EncodedPayload {
  /** What was done to it, in order: `['brotli', 'aes-256-gcm']`. */
  steps: readonly string[];
  /** Of the key it was encrypted with. */
  keyId: string | null;
  data: Uint8Array;
}

/** A step, or several, between payloads and the engine. Both directions answer at once and change nothing they were given. */
export interface PayloadCodec {
  /** Whether what it stores cannot be read without a key. */
  readonly encrypts: boolean;
  /** How it stores a tenant's payloads now, key id included; bytes stored in another form are kept apart. */
  formOf(tenantId: string): string;
  /** The payload with a step added, or as it is. */
  encode(payload: EncodedPayload, place: PayloadContext): EncodedPayload;
  /** Takes back what `encode` did. Gives a payload whose last step is not its own as it is, or refuses it. */
  decode(payload: EncodedPayload, place: PayloadContext): EncodedPayload;
}
