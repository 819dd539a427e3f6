/**
 * Checksums of messages. The server has its own for data on its disk. These cover a value from its writer to its
 * reader, and bind it to its subject. Older messages have none.
 */
import { sumBytes, sumNames } from '@tidemark/core/engine';
import { HEADER } from './headers.ts';

type Headers = Readonly<Record<string, string | undefined>>;

/** Returns the checksum of a body with its subject and the headers that belong to its value. */
export function messageSum(subject: string, headers: Headers, body: Uint8Array): string {
  const about = [HEADER.name, HEADER.expires, HEADER.places, HEADER.requests].map((name) => headers[name] ?? '');
  return (sumBytes(body, sumNames([subject, ...about])) >>> 0).toString(36);
}

/** Whether a message matches its checksum. True for a message without one. */
export function isIntact(subject: string, headers: Headers, body: Uint8Array): boolean {
  const sum = headers[HEADER.sum];
  return sum === undefined || sum === messageSum(subject, headers, body);
}
