/** Fields of records in the form that commands show. */
import type { KvRecord } from '@tidemark/core';

const strict = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/** Returns a field as text if it is valid UTF-8, otherwise as base64. */
function fieldValue(bytes: Uint8Array): string | { base64: string } {
  try {
    return strict.decode(bytes);
  } catch {
    return { base64: Buffer.from(bytes).toString('base64') };
  }
}

export function decodeFields({ fields }: KvRecord): Record<string, unknown> {
  return Object.fromEntries(Object.entries(fields).map(([name, bytes]) => [name, fieldValue(bytes)]));
}
