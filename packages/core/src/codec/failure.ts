/** The one error of payloads that cannot be encoded or decoded: nothing wrong is ever returned in their place. */
import type { PayloadPlace } from '../contracts/codec.ts';
import { TidemarkError } from '../contracts/errors.ts';

export function codecFailed(place: PayloadPlace, why: string, keyId: string | null, cause?: unknown): TidemarkError {
  const { kind, owner, item } = place;
  const name = [owner, item].filter(Boolean).map((part) => JSON.stringify(part));
  return new TidemarkError('CODEC_FAILED', `The ${kind} ${name.join(' / ')} cannot be used: ${why}`, {
    rule: why,
    ...(keyId === null ? {} : { keyId }),
    ...(kind === 'event' || kind === 'snapshot' ? { runId: owner } : {}),
    ...(cause === undefined ? {} : { cause }),
  });
}
