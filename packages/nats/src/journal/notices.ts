/**
 * Notices on NATS. The message of a change has the notice of that change in its headers. A message that replaces
 * earlier messages of its journal carries the notices of their rewrites in its body, so that a slow reader still learns
 * of every rewrite. A reader may receive such a notice twice. Notices of removals and restores are not carried: the
 * later state of the journal replaces them, and delivering them again out of order would be wrong.
 */
import type { EngineCall, JournalName } from '@tidemark/core/engine';
import { HEADER, type HeaderValues, headerJson } from '../messages/headers.ts';
import type { StoredMessage } from '../messages/messages.ts';
import { noticesInBody } from './commits.ts';
import type { JournalReader } from './journal-reader.ts';

/** Returns the headers of a message that has a notice and whose body carries notices of earlier messages. */
export function noticeHeaders(notice: string | undefined, carried: readonly string[]) {
  return {
    [HEADER.notice]: notice === undefined ? undefined : headerJson(notice),
    [HEADER.carried]: carried.length === 0 ? undefined : String(carried.length),
  };
}

/** Whether the notices of a commit follow its entries. The notices of a restore precede its entries. */
export function noticesFollow(headers: HeaderValues): boolean {
  return headers[HEADER.rewritten] !== undefined;
}

/** Returns the notices of a message: the carried notices, then the notice of the message itself. */
export async function noticesOf(reader: JournalReader, message: StoredMessage, call: EngineCall): Promise<string[]> {
  const own = message.headers[HEADER.notice];
  if (own === undefined) return [];
  const body = message.headers[HEADER.carried] === undefined ? null : await reader.bodyOf(message, call);
  return [...(body ? noticesInBody(body) : []), JSON.parse(own) as string];
}

/**
 * Returns the notices of all rewrites of a journal. They are carried in the message that is about to replace its
 * messages.
 */
export async function noticesToCarry(reader: JournalReader, name: JournalName, call: EngineCall): Promise<string[]> {
  let notices: string[] = [];
  for await (const { seq, headers } of reader.headersOf(name, call)) {
    if (headers[HEADER.notice] === undefined) continue;
    const message = await reader.messageAt(seq, call);
    if (!message) continue;
    const found = await noticesOf(reader, message, call);
    const ofRewrites = noticesFollow(headers) ? found : found.slice(0, -1);
    // A message that carries notices carries the notices of all earlier messages.
    notices = headers[HEADER.carried] === undefined ? [...notices, ...ofRewrites] : ofRewrites;
  }
  return notices;
}
