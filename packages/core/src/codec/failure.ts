/** The error for payloads that cannot be encoded or decoded. */
import type { PayloadContext } from '../contracts/codec.ts';
import { TidemarkError } from '../contracts/errors.ts';

export function codecFailed(
  context: PayloadContext,
  why: string,
  keyId: string | null,
  cause?: unknown,
): TidemarkError {
  const { kind, owner, item } = context;
  const name = [owner, item].filter(Boolean).map((part) => JSON.stringify(part));
  return new TidemarkError('CODEC_FAILED', `The ${kind} ${name.join(' / ')} cannot be used: ${why}`, {
    rule: why,
    ...(keyId === null ? {} : { keyId }),
    ...(kind === 'event' || kind === 'snapshot' ? { runId: owner } : {}),
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Errors caused by the stored form itself, and not by the keys or codec that the store was opened with. */
const damaged = new WeakSet<object>();

/** Returns the error for a payload that cannot be read with any key or codec. */
export function payloadDamaged(
  context: PayloadContext,
  why: string,
  keyId: string | null,
  cause?: unknown,
): TidemarkError {
  const error = codecFailed(context, why, keyId, cause);
  damaged.add(error);
  return error;
}

/** Returns a copy of a damaged-payload error with the sequence of its event. */
export function damagedAt({ message, rule, keyId, runId, cause }: TidemarkError, runSeq: number): TidemarkError {
  const error = new TidemarkError('CODEC_FAILED', message, { rule, keyId, runId, cause, runSeq });
  damaged.add(error);
  return error;
}

/** Whether the error reports a damaged payload, as opposed to a missing key or codec. */
export function isDamagedPayload(error: unknown): error is TidemarkError {
  return typeof error === 'object' && error !== null && damaged.has(error);
}
