/** The one error of payloads that cannot be encoded or decoded: nothing wrong is ever returned in their place. */
import type { PayloadContext } from '../contracts/codec.ts';
import { TidemarkError } from '../contracts/errors.ts';

export function codecFailed(place: PayloadContext, why: string, keyId: string | null, cause?: unknown): TidemarkError {
  const { kind, owner, item } = place;
  const name = [owner, item].filter(Boolean).map((part) => JSON.stringify(part));
  return new TidemarkError('CODEC_FAILED', `The ${kind} ${name.join(' / ')} cannot be used: ${why}`, {
    rule: why,
    ...(keyId === null ? {} : { keyId }),
    ...(kind === 'event' || kind === 'snapshot' ? { runId: owner } : {}),
    ...(cause === undefined ? {} : { cause }),
  });
}

/** Errors whose cause is the stored form itself, and not the keys or the codec that the store was opened with. */
const damaged = new WeakSet<object>();

/** The error of a payload that no key and no codec can read. */
export function payloadDamaged(
  place: PayloadContext,
  why: string,
  keyId: string | null,
  cause?: unknown,
): TidemarkError {
  const error = codecFailed(place, why, keyId, cause);
  damaged.add(error);
  return error;
}

/** The same error for a payload whose event is known. */
export function damagedAt({ message, rule, keyId, runId, cause }: TidemarkError, runSeq: number): TidemarkError {
  const error = new TidemarkError('CODEC_FAILED', message, { rule, keyId, runId, cause, runSeq });
  damaged.add(error);
  return error;
}

/** Whether a payload is damaged, rather than of a key or codec that is missing here. */
export function isDamagedPayload(error: unknown): error is TidemarkError {
  return typeof error === 'object' && error !== null && damaged.has(error);
}
