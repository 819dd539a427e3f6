/** The reason of a pause, which lists show without its token (AGT-4): truncated, and encoded like its payload. */
import { isEnvelope } from '../codec/envelope.ts';
import type { PauseInfo } from '../contracts/agents.ts';
import type { PayloadContext } from '../contracts/codec.ts';
import type { StoreContext } from '../tools/context.ts';

const MAX_REASON_BYTES = 512;

/** Returns the reason to store, or `null` when the payload has no reason that can be shown. */
export function encodeReason(context: StoreContext, tenantId: string, pauseId: string, reason: unknown): string | null {
  const text = checkReason(reason);
  if (text === null || context.payloads.codec === null) return text;
  const encoded = context.payloads.encode(JSON.stringify({ reason: text }), reasonContext(tenantId, pauseId));
  return isEnvelope(encoded) ? encoded : text;
}

/** Returns a pause's metadata with its reason decoded. */
export function infoOf(context: StoreContext, tenantId: string, pause: PauseInfo): PauseInfo {
  const { payloads } = context;
  const stored = pause.reason;
  if (stored === undefined || (payloads.codec === null && !isEnvelope(stored))) return pause;
  const body = isEnvelope(stored) ? stored : JSON.stringify({ reason: stored });
  return { ...pause, ...payloads.decode<{ reason: string }>(body, reasonContext(tenantId, pause.pauseId)) };
}

function reasonContext(tenantId: string, pauseId: string): PayloadContext {
  return { tenantId, kind: 'pause-reason', owner: pauseId };
}

/** Returns a payload's reason if it is text, truncated to a size that every list can show. */
function checkReason(reason: unknown): string | null {
  // A reason that starts like an envelope could not be distinguished from one.
  if (typeof reason !== 'string' || reason === '' || isEnvelope(reason)) return null;
  const text = reason.toWellFormed().replaceAll('\0', '\uFFFD');
  const bytes = Buffer.from(text);
  if (bytes.length <= MAX_REASON_BYTES) return text;
  let end = MAX_REASON_BYTES;
  while ((bytes[end]! & 0xc0) === 0x80) end--;
  return bytes.toString('utf8', 0, end);
}
