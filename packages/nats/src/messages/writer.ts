/**
 * Publishes one message on the condition that its subject ends with a known sequence. A lost acknowledgement is settled
 * here: the same message is retried with the same condition, which at most one copy can meet, and the subject shows
 * whose it was.
 */
import { isTidemarkError, TidemarkError } from '@tidemark/core';
import { digestBytes, type EngineCall, sha256, sleep } from '@tidemark/core/engine';
import { GIVE_UP_MS, isOver, type Link, parse, RETRY_DELAY_MS } from '../connection/link.ts';
import {
  AnswerLost,
  IN_PROCESS,
  isPassing,
  outcomeUnknown,
  RefusedByServer,
  unavailable,
  WRONG_LAST_SEQUENCE,
} from '../errors.ts';
import { HEADER, headersFor } from './headers.ts';
import type { Messages, StoredMessage } from './messages.ts';

export interface Publication {
  subject: string;
  /** Sequence of the last message of the subject; 0 when there must be none, absent for no condition. */
  expected?: number;
  headers: Readonly<Record<string, string | undefined>>;
  body: Uint8Array | string;
}

interface Acknowledgement {
  seq: number;
  duplicate?: boolean;
}

/** Reserved for headers and protocol in a message of the server's maximum size. */
const RESERVED = 72 * 1024;

export class Writer {
  readonly #link: Link;
  readonly #messages: Messages;
  /** The start of the write ids of this process. */
  readonly #writerId: string;
  #writes = 0;

  constructor(link: Link, messages: Messages, random: (length: number) => Uint8Array) {
    this.#link = link;
    this.#messages = messages;
    this.#writerId = Buffer.from(random(12)).toString('base64url');
  }

  /** The maximum size of a body in bytes. */
  get largestBody(): number {
    return this.#link.maxPayload - RESERVED;
  }

  /** Returns the sequence of the message, or `null` when the subject has moved on and nothing was written. */
  async publish(publication: Publication, call: EngineCall): Promise<number | null> {
    const { subject, expected, body } = publication;
    const write = `${this.#writerId}.${++this.#writes}`;
    const headersAfter = (cleared: number) =>
      headersFor({
        ...publication.headers,
        [HEADER.write]: write,
        [HEADER.expected]: expected === undefined ? undefined : String(expected),
        [HEADER.once]: expected === undefined ? undefined : this.#messageId(subject, expected, cleared),
      });
    let headers = headersAfter(0);
    call.phase ??= 'waiting';
    let mayBeStored = false;
    for (;;) {
      try {
        await this.#link.whenConnected(call);
        begin(call);
        const { seq, duplicate } = parse<Acknowledgement>(await this.#link.ask(subject, body, call, headers));
        if (!duplicate) return seq;
        if (seq > 0) {
          // Read once only: older versions of a busy record are soon dropped.
          const next = await this.#following(subject, expected!, call);
          if (next || mayBeStored) return sequenceOfWrite(next, write);
          // The message with this id was purged with its subject: all writers that begin again use the same new id.
          headers = headersAfter(seq);
          continue;
        }
        // Seen on 2.10.27: another message with the id is being stored, and may not arrive.
        throw new RefusedByServer(IN_PROCESS, 'another message of the same id is being stored');
      } catch (error) {
        if (error instanceof RefusedByServer && error.code === WRONG_LAST_SEQUENCE)
          return mayBeStored ? await this.#settle(subject, expected!, write, call) : null;
        if (error instanceof AnswerLost) mayBeStored = true;
        else if (!isPassing(error))
          throw mayBeStored && !isTidemarkError(error, 'OUTCOME_UNKNOWN') ? outcomeUnknown(error) : error;
        // Before the caller's own timer fires: a write that was refused every time is known not to be stored.
        if (isOver(call, GIVE_UP_MS)) throw mayBeStored ? outcomeUnknown(error) : unavailable(error as Error);
        if (isPassing(error)) await sleep(RETRY_DELAY_MS);
      }
    }
  }

  /**
   * On a cluster of 2.9.10, two concurrent writers were seen to meet the same expected sequence, apparently while the
   * first message was still being stored. Of messages with the same id within two minutes, one is stored.
   */
  #messageId(subject: string, expected: number, cleared: number): string | undefined {
    if (this.#link.cluster === undefined) return undefined;
    const id = `${digestBytes(sha256(subject)).toString('base64url')}:${expected}`;
    return cleared === 0 ? id : `${id}:${cleared}`;
  }

  /** Returns what followed the expected sequence: our message, or another's, after which ours can never be stored. */
  async #settle(subject: string, expected: number, write: string, call: EngineCall): Promise<number | null> {
    return sequenceOfWrite(await this.#following(subject, expected, call), write);
  }

  /** Returns the message that was stored after the expected sequence, or `null` when it is no longer kept. */
  async #following(subject: string, expected: number, call: EngineCall): Promise<StoredMessage | null> {
    let next: StoredMessage | null;
    try {
      next = await this.#messages.next(subject, expected + 1, call);
    } catch (error) {
      throw outcomeUnknown(error);
    }
    return next?.headers[HEADER.expected] === String(expected) ? next : null;
  }
}

/** Returns the sequence of our write if it followed the expected one, or `null` if another's did. */
function sequenceOfWrite(next: StoredMessage | null, write: string): number | null {
  if (!next) throw outcomeUnknown(new Error('what followed it is not kept any more'));
  return next.headers[HEADER.write] === write ? next.seq : null;
}

/** From here on the message may be stored, even if the call fails (GEN-3). */
function begin(call: EngineCall): void {
  if (call.phase === 'given up')
    throw new TidemarkError('ABORTED', 'The write was given up before it began; nothing was written');
  call.phase = 'begun';
}
