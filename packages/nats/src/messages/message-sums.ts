/**
 * Checksums of messages. The server has its own checksums for the data on its disk. These checksums protect a value all
 * the way from writer to reader, and include the message's subject. Messages of older versions have none.
 */
import { sumBytes, sumName } from '@tidemark/core/engine';
import { HEADER } from './headers.ts';

type Headers = Readonly<Record<string, string | undefined>>;

/** The headers that belong to a value, in the order in which they are summed. */
const COVERED = [HEADER.name, HEADER.expires, HEADER.indexKeys, HEADER.requests];

/** Returns the checksum of a body with its subject and the headers that belong to its value. */
export function messageSum(subject: string, headers: Headers, body: Uint8Array): string {
  let sum = sumName(subject, 0);
  for (const name of COVERED) sum = sumName(headers[name] ?? '', sum);
  return (sumBytes(body, sum) >>> 0).toString(36);
}

/** Whether a message matches its checksum. True for a message without a checksum. */
export function isIntact(subject: string, headers: Headers, body: Uint8Array): boolean {
  const sum = headers[HEADER.sum];
  return sum === undefined || sum === messageSum(subject, headers, body);
}
