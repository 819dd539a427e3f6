/** The format of checkpoints (RUN-23): the leaf of a run, the Merkle root over all runs, and the signed text. */
import { createHash, createPrivateKey, createPublicKey, type KeyObject, sign, verify } from 'node:crypto';
import { invalidArgument } from '@tidemark/core';

export const CHECKPOINT_FORMAT = 'tidemark-checkpoint-1';
const POINT_FORMAT = 'tidemark-point-1';

/** The state of one run at a checkpoint. */
export interface RunPoint {
  tenantId: string;
  runId: string;
  life: number;
  lastEventSeq: number;
  /** The link of the last event, in hex. */
  head: string;
  /** When the last event was stored, or when the run was removed. */
  at: string;
  removed?: 'deleted' | 'archived';
}

/** A signed root over the points of all runs. */
export interface Checkpoint {
  format: typeof CHECKPOINT_FORMAT;
  /** 1, 2, 3, … */
  number: number;
  at: string;
  /** The number of runs that the root covers. */
  runs: number;
  /** The Merkle root, in hex. */
  root: string;
  /** The SHA-256 of the previous checkpoint's signed text, in hex. */
  previous: string | null;
  /** The raw public key, in base64url. */
  key: string;
  /** The Ed25519 signature of the signed text, in base64url. */
  signature: string;
}

/** An Ed25519 key as PEM text or a `KeyObject`. */
export type CheckpointKey = string | KeyObject;

function lengthPrefixed(value: string | number | null): string {
  return value === null ? '-' : `${Buffer.byteLength(String(value))}:${value}`;
}

function sha256(...parts: (string | Uint8Array)[]): Buffer {
  const hash = createHash('sha256');
  for (const part of parts) hash.update(part);
  return hash.digest();
}

export function leafOfPoint({ tenantId, runId, life, lastEventSeq, head, at, removed }: RunPoint): Buffer {
  const fields = [tenantId, runId, life, lastEventSeq, head, at, removed ?? null];
  return sha256(Uint8Array.of(0), `${POINT_FORMAT}\n${fields.map(lengthPrefixed).join('')}`);
}

/** Returns the inner node over two nodes. A node without a sibling moves up a level unchanged. */
export function nodeOf(left: Buffer, right: Buffer | undefined): Buffer {
  return right ? sha256(Uint8Array.of(1), left, right) : left;
}

/** Returns the root of a tree without any runs. */
export function rootOfNothing(): string {
  return sha256('').toString('hex');
}

/** Returns the text that is signed. */
export function signedText({ number, at, runs, root, previous, key }: Omit<Checkpoint, 'signature'>): string {
  return `${CHECKPOINT_FORMAT}\n${[number, at, runs, root, previous, key].map(lengthPrefixed).join('')}`;
}

/** Returns the hash by which the next checkpoint refers to this checkpoint. */
export function hashOf(checkpoint: Checkpoint): string {
  return sha256(signedText(checkpoint)).toString('hex');
}

export function signed(checkpoint: Omit<Checkpoint, 'signature'>, key: KeyObject): Checkpoint {
  return { ...checkpoint, signature: sign(null, Buffer.from(signedText(checkpoint)), key).toString('base64url') };
}

export function isSignedBy(checkpoint: Checkpoint, key: KeyObject): boolean {
  const signature = Buffer.from(checkpoint.signature, 'base64url');
  return checkpoint.key === rawKey(key) && verify(null, Buffer.from(signedText(checkpoint)), key, signature);
}

/** Returns the raw bytes of a public key as base64url text. */
export function rawKey(key: KeyObject): string {
  return key.export({ format: 'jwk' }).x!;
}

export function privateKeyOf(key: CheckpointKey): KeyObject {
  return checked(key, 'key', 'private', createPrivateKey);
}

/** Returns the public key. Refuses private keys, because verifying must not require one. */
export function publicKeyOf(key: CheckpointKey): KeyObject {
  return checked(key, 'publicKey', 'public', (text) =>
    // Needed because Node would derive a public key from the text of a private key.
    text.includes('PRIVATE KEY') ? createPrivateKey(text) : createPublicKey(text),
  );
}

function checked(
  key: CheckpointKey,
  field: string,
  type: 'private' | 'public',
  parse: (text: string) => KeyObject,
): KeyObject {
  let found: KeyObject | null = null;
  try {
    found = typeof key === 'string' ? parse(key) : key;
  } catch {
    // Reported below without the parser's message, which may contain part of the key.
  }
  if (found?.type === type && found.asymmetricKeyType === 'ed25519') return found;
  throw invalidArgument(field, `an Ed25519 ${type} key, as PEM text or a KeyObject`);
}
