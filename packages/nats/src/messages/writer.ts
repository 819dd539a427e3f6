/**
 * Publishes one message on the condition that the last sequence of its subject has not changed. Lost acknowledgements
 * are resolved here: the same message is retried with the same condition, so at most one copy is stored. The subject
 * then shows which writer's message it is.
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
  /**
   * Sequence of the last message of the subject; 0 if the subject must have no message; absent if there is no
   * condition.
   */
  expected?: number;
  headers: Readonly<Record<string, string | undefined>>;
  body: Uint8Array | string;
}

interface Acknowledgement {
  seq: number;
  duplicate?: boolean;
}

/** A message that this process wrote: its sequence in the stream, and the id of the write in its headers. */
export interface LastWrite {
  seq: number;
  write: string;
}

/** Reserved for headers and protocol in a message of the server's maximum size. */
const RESERVED = 72 * 1024;

export class Writer {
  readonly #link: Link;
  readonly #messages: Messages;
  /** The start of the write ids of this process. */
  readonly #writerId: string;
  #writes = 0;
  #last: LastWrite | null = null;

  constructor(link: Link, messages: Messages, random: (length: number) => Uint8Array) {
    this.#link = link;
    this.#messages = messages;
    this.#writerId = Buffer.from(random(12)).toString('base64url');
  }

  /** The acknowledged write of this process with the highest stream sequence. */
  get last(): LastWrite | null {
    return this.#last;
  }

  /** The maximum size of a body in bytes. */
  get largestBody(): number {
    return this.#link.maxPayload - RESERVED;
  }

  /** Publishes a message and returns its sequence, or `null` if the subject has changed and nothing was written. */
  async publish(publication: Publication, call: EngineCall): Promise<number | null> {
    const write = `${this.#writerId}.${++this.#writes}`;
    const seq = await this.#publish(publication, write, call);
    if (seq !== null && seq > (this.#last?.seq ?? 0)) this.#last = { seq, write };
    return seq;
  }

  async #publish(publication: Publication, write: string, call: EngineCall): Promise<number | null> {
    const { subject, expected, body } = publication;
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
        const { highest } = this.#messages;
        const { seq, duplicate } = parse<Acknowledgement>(await this.#link.ask(subject, body, call, headers));
        if (!duplicate) {
          this.#messages.noteNew(seq, highest);
          return seq;
        }
        if (seq > 0) {
          // Read only once, because the stream soon drops older versions of a busy record.
          const next = await this.#following(subject, expected!, call);
          if (next || mayBeStored) return sequenceOfWrite(next, write);
          // The message with this id was purged with its subject. All writers that retry after the purge use the same
          // new id.
          headers = headersAfter(seq);
          continue;
        }
        // Version 2.10.27 reports this while another message with the same id is being stored, which may yet fail.
        throw new RefusedByServer(IN_PROCESS, 'another message of the same id is being stored');
      } catch (error) {
        if (error instanceof RefusedByServer && error.code === WRONG_LAST_SEQUENCE)
          return mayBeStored ? await this.#settle(subject, expected!, write, call) : null;
        if (error instanceof AnswerLost) mayBeStored = true;
        else if (!isPassing(error))
          throw mayBeStored && !isTidemarkError(error, 'OUTCOME_UNKNOWN') ? outcomeUnknown(error) : error;
        // Thrown before the caller's own timer fires, because this error states that a write which was refused every
        // time is not stored.
        if (isOver(call, GIVE_UP_MS)) throw mayBeStored ? outcomeUnknown(error) : unavailable(error as Error);
        if (isPassing(error)) await sleep(RETRY_DELAY_MS);
      }
    }
  }

  /**
   * In a cluster of version 2.9.10, two concurrent writers can both succeed with the same expected sequence, apparently
   * while the first message is still being stored. Of several messages with the same id, the server stores only one
   * within two minutes.
   */
  #messageId(subject: string, expected: number, cleared: number): string | undefined {
    if (this.#link.cluster === undefined) return undefined;
    const id = `${digestBytes(sha256(subject)).toString('base64url')}:${expected}`;
    return cleared === 0 ? id : `${id}:${cleared}`;
  }

  /**
   * Returns the message that followed the expected sequence: our message, or another writer's message, after which ours
   * can never be stored.
   */
  async #settle(subject: string, expected: number, write: string, call: EngineCall): Promise<number | null> {
    return sequenceOfWrite(await this.#following(subject, expected, call), write);
  }

  /** Returns the message that was stored after the expected sequence, or `null` when the stream no longer has it. */
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

/**
 * Returns the sequence of our write if it followed the expected sequence, or `null` if another writer's message did.
 */
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
