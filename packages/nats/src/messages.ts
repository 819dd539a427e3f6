/** Messages of a stream, read from its leader: what was acknowledged before is seen. */
import type { EngineCall } from '@tidemark/core/engine';
import { NO_MESSAGE, RefusedByServer } from './errors.ts';
import { type HeaderValues, readHeaders } from './headers.ts';
import type { Link } from './link.ts';

export interface StoredMessage {
  subject: string;
  seq: number;
  headers: HeaderValues;
  data: Buffer;
}

interface Answer {
  message: { subject: string; seq: number; hdrs?: string; data?: string };
}

export class Messages {
  readonly #link: Link;
  /** The name of the stream, and what all its subjects begin with. */
  readonly stream: string;
  readonly subject: string;

  constructor(link: Link, stream: string, subject: string) {
    this.#link = link;
    this.stream = stream;
    this.subject = subject;
  }

  /** The last one of a subject. */
  last(subject: string, call: EngineCall): Promise<StoredMessage | null> {
    return this.#get({ last_by_subj: subject }, call);
  }

  /** The first one of a subject, or of all it matches, at or after a sequence. */
  next(subject: string, from: number, call: EngineCall): Promise<StoredMessage | null> {
    return this.#get({ next_by_subj: subject, seq: Math.max(1, from) }, call);
  }

  at(seq: number, call: EngineCall): Promise<StoredMessage | null> {
    return this.#get({ seq }, call);
  }

  /** The sequence the whole stream has come to. */
  async lastSeq(call: EngineCall): Promise<number> {
    const { state } = await this.#link.query<{ state: { last_seq: number } }>(
      `STREAM.INFO.${this.stream}`,
      undefined,
      call,
    );
    return state.last_seq;
  }

  /** Subjects of a filter that have messages. */
  async subjects(filter: string, call: EngineCall): Promise<string[]> {
    const { state } = await this.#link.query<{ state: { subjects?: Record<string, number> } }>(
      `STREAM.INFO.${this.stream}`,
      { subjects_filter: filter },
      call,
    );
    return Object.keys(state.subjects ?? {});
  }

  /** Removes what a subject has below a sequence, or all of it. */
  async purge(filter: string, below: number | undefined, call: EngineCall): Promise<void> {
    // Nothing is below the first sequence, and the server takes that bound for none.
    if (below !== undefined && below <= 1) return;
    await this.#link.query(`STREAM.PURGE.${this.stream}`, { filter, ...(below && { seq: below }) }, call);
  }

  async #get(what: object, call: EngineCall): Promise<StoredMessage | null> {
    try {
      const { message } = await this.#link.query<Answer>(`STREAM.MSG.GET.${this.stream}`, what, call);
      return {
        subject: message.subject,
        seq: message.seq,
        headers: message.hdrs ? readHeaders(Buffer.from(message.hdrs, 'base64')) : {},
        data: Buffer.from(message.data ?? '', 'base64'),
      };
    } catch (error) {
      if (error instanceof RefusedByServer && error.code === NO_MESSAGE) return null;
      throw error;
    }
  }
}
