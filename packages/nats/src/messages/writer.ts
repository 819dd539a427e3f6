/**
 * Publishes one message against the sequence its subject is known to end with. A lost acknowledgement is settled here: the same
 * message is sent again with the same expectation, which at most one copy can meet, and the subject tells whose it was.
 */
import { isTidemarkError, TidemarkError } from '@tidemark/core';
import { digestBytes, type EngineCall, sha256, sleep } from '@tidemark/core/engine';
import { GIVE_UP_MS, isOver, type Link, PAUSE_MS, parse } from '../connection/link.ts';
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
  /** Sequence of the last message of the subject; 0 when there must be none, absent when anything may be. */
  expected?: number;
  headers: Readonly<Record<string, string | undefined>>;
  body: Uint8Array | string;
}

interface Acknowledgement {
  seq: number;
  duplicate?: boolean;
}

/** What is left for headers and protocol of a message as large as the server takes. */
const RESERVED = 72 * 1024;

export class Writer {
  readonly #link: Link;
  readonly #messages: Messages;
  /** Begins the mark of every write of this process. */
  readonly #mark: string;
  #writes = 0;

  constructor(link: Link, messages: Messages, random: (length: number) => Uint8Array) {
    this.#link = link;
    this.#messages = messages;
    this.#mark = Buffer.from(random(12)).toString('base64url');
  }

  /** How many bytes a body may have. */
  get largestBody(): number {
    return this.#link.maxPayload - RESERVED;
  }

  /** The sequence the message was given, `null` when the subject has moved on and nothing was written. */
  async publish(publication: Publication, call: EngineCall): Promise<number | null> {
    const { subject, expected, body } = publication;
    const write = `${this.#mark}.${++this.#writes}`;
    const headersAfter = (cleared: number) =>
      headersFor({
        ...publication.headers,
        [HEADER.write]: write,
        [HEADER.expected]: expected === undefined ? undefined : String(expected),
        [HEADER.once]: expected === undefined ? undefined : this.#onceOf(subject, expected, cleared),
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
          // One look only: versions of a busy record are soon not kept any more.
          const next = await this.#following(subject, expected!, call);
          if (next || mayBeStored) return placeIn(next, write);
          // What had this id went with all its subject had: whoever begins anew does so under the same new one.
          headers = headersAfter(seq);
          continue;
        }
        // Seen on 2.10.27: another one is on its way, and may not arrive.
        throw new RefusedByServer(IN_PROCESS, 'another message of the same id is being stored');
      } catch (error) {
        if (error instanceof RefusedByServer && error.code === WRONG_LAST_SEQUENCE)
          return mayBeStored ? await this.#settle(subject, expected!, write, call) : null;
        if (error instanceof AnswerLost) mayBeStored = true;
        else if (!isPassing(error))
          throw mayBeStored && !isTidemarkError(error, 'OUTCOME_UNKNOWN') ? outcomeUnknown(error) : error;
        // Before the caller's own clock says so: what was refused every time is known not to be written.
        if (isOver(call, GIVE_UP_MS)) throw mayBeStored ? outcomeUnknown(error) : unavailable(error as Error);
        if (isPassing(error)) await sleep(PAUSE_MS);
      }
    }
  }

  /**
   * On a cluster of 2.9.10 two writers at once were seen to meet the same expected sequence, it seems while the first was still on its
   * way. Of messages with the same id within two minutes one is stored.
   */
  #onceOf(subject: string, expected: number, cleared: number): string | undefined {
    if (this.#link.cluster === undefined) return undefined;
    const place = `${digestBytes(sha256(subject)).toString('base64url')}:${expected}`;
    return cleared === 0 ? place : `${place}:${cleared}`;
  }

  /** What followed the expected sequence: our message, or that of another, after which ours can never be stored. */
  async #settle(subject: string, expected: number, write: string, call: EngineCall): Promise<number | null> {
    return placeIn(await this.#following(subject, expected, call), write);
  }

  /** The message that was stored against the expected sequence, `null` when it is not kept any more. */
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

/** Where a write stands that followed what it expected; `null` when another's did. */
function placeIn(next: StoredMessage | null, write: string): number | null {
  if (!next) throw outcomeUnknown(new Error('what followed it is not kept any more'));
  return next.headers[HEADER.write] === write ? next.seq : null;
}

/** From here on the message may be stored, whatever its caller hears (GEN-3). */
function begin(call: EngineCall): void {
  if (call.phase === 'given up')
    throw new TidemarkError('ABORTED', 'The write was given up before it began; nothing was written');
  call.phase = 'begun';
}
