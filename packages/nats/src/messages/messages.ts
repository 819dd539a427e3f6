/** Reads messages of a stream from its leader, so that every earlier acknowledged write is seen. */
import { type EngineCall, LruMap, sleep } from '@tidemark/core/engine';
import type { Link } from '../connection/link.ts';
import { NO_MESSAGE, RefusedByServer } from '../errors.ts';
import { type HeaderValues, parseHeaders } from './headers.ts';

export interface StoredMessage {
  subject: string;
  seq: number;
  headers: HeaderValues;
  data: Buffer;
}

interface Answer {
  message: { subject: string; seq: number; hdrs?: string; data?: string };
}

/** The maximum number of cached empty ranges. In streams with more empty ranges, the leader is asked about each gap. */
const MAX_EMPTY = 20_000;
/** How long to wait before asking again whether a stream has gone back. */
const ASK_AGAIN_MS = 100;
/** A filter that the server treats as no filter. */
const ANYTHING = '>';

export class Messages {
  readonly #link: Link;
  /** The name of the stream. The subjects of all its messages start with it. */
  readonly stream: string;
  readonly subject: string;
  /** Cache of empty ranges of sequences, from start to end. */
  readonly #empty = new LruMap<string, number>(MAX_EMPTY);
  #highest = 0;
  readonly #wentBack = new Set<(lastSeq: number) => void>();

  constructor(link: Link, stream: string, subject: string) {
    this.#link = link;
    this.stream = stream;
    this.subject = subject;
  }

  /** The filter that every message of the stream matches. */
  get all(): string {
    return `${this.subject}.>`;
  }

  /** Returns the last message of a subject or filter. */
  last(subject: string, call: EngineCall): Promise<StoredMessage | null> {
    return this.#get({ last_by_subj: this.#filter(subject) }, call);
  }

  /** Returns the first message of a subject or filter at or after a sequence. */
  next(subject: string, from: number, call: EngineCall): Promise<StoredMessage | null> {
    return this.#get({ next_by_subj: this.#filter(subject), seq: Math.max(1, from) }, call);
  }

  /** Omits a filter that matches everything, because with a filter servers compare the subject of every message. */
  #filter(subject: string): string {
    return subject === this.all ? ANYTHING : subject;
  }

  /**
   * Whether the leader has reported that there are no messages between `from`, inclusive, and `end`, exclusive.
   * Sequences are reused only by a stream that went back.
   */
  isEmpty(from: number, end: number): boolean {
    return (this.#empty.get(String(from)) ?? 0) >= end;
  }

  noteEmpty(from: number, end: number): void {
    this.#empty.set(String(from), end);
  }

  /** Caches all ranges that are currently empty, unless there are too many. */
  async learnEmpty(call: EngineCall): Promise<void> {
    const info = (question?: object) =>
      this.#link.query<{ state: { num_deleted?: number; deleted?: number[] } }>(
        `STREAM.INFO.${this.stream}`,
        question,
        call,
      );
    const { num_deleted = 0 } = (await info()).state;
    if (num_deleted === 0 || num_deleted > MAX_EMPTY) return;
    const { deleted = [] } = (await info({ deleted_details: true })).state;
    const sorted = Float64Array.from(deleted).sort();
    for (let [from, at] = [0, 0]; at < sorted.length; at++) {
      if (sorted[at]! + 1 === sorted[at + 1]) continue;
      this.noteEmpty(sorted[from]!, sorted[at]! + 1);
      from = at + 1;
    }
  }

  at(seq: number, call: EngineCall): Promise<StoredMessage | null> {
    return this.#get({ seq }, call);
  }

  /** The highest sequence that this process has seen. */
  get highest(): number {
    return this.#highest;
  }

  /** Records that the stream has a message with this sequence. */
  note(seq: number): void {
    if (seq > this.#highest) this.#highest = seq;
  }

  /**
   * Records a new message. Its sequence is above the value that `highest` had before the message was sent, unless a
   * stream that went back has reused it.
   */
  noteNew(seq: number, highest: number): void {
    if (seq <= highest) this.#goBack(seq - 1, highest);
    this.note(seq);
  }

  /**
   * Calls back with the new last sequence when the stream has gone back: its server started again without the last
   * messages and reuses their sequences. Everything known about the stream may be wrong then.
   */
  onWentBack(callback: (lastSeq: number) => void): { stop(): void } {
    this.#wentBack.add(callback);
    return { stop: () => void this.#wentBack.delete(callback) };
  }

  /** Returns the last sequence of the whole stream, and notices when the stream has gone back. */
  async lastSeq(call: EngineCall): Promise<number> {
    const highest = this.#highest;
    let last = await this.#askLastSeq(call);
    if (last < highest) {
      // A new leader may need a moment to catch up.
      await sleep(ASK_AGAIN_MS);
      last = await this.#askLastSeq(call);
    }
    if (last < highest) this.#goBack(last, highest);
    this.note(last);
    return last;
  }

  /**
   * @param highest the highest sequence when this caller asked, so that only one of several callers reports that the
   * stream has gone back
   */
  #goBack(last: number, highest: number): void {
    if (this.#highest < highest) return;
    this.#highest = last;
    this.#empty.clear();
    for (const callback of [...this.#wentBack]) callback(last);
  }

  async #askLastSeq(call: EngineCall): Promise<number> {
    const { state } = await this.#link.query<{ state: { last_seq: number } }>(
      `STREAM.INFO.${this.stream}`,
      undefined,
      call,
    );
    return state.last_seq;
  }

  /** Returns the subjects of a filter that have messages. */
  async subjects(filter: string, call: EngineCall): Promise<string[]> {
    const { state } = await this.#link.query<{ state: { subjects?: Record<string, number> } }>(
      `STREAM.INFO.${this.stream}`,
      { subjects_filter: filter },
      call,
    );
    return Object.keys(state.subjects ?? {});
  }

  /** Removes the messages of a subject below a sequence, or all of them. */
  async purge(filter: string, below: number | undefined, call: EngineCall): Promise<void> {
    // Nothing precedes the first sequence, and the server would ignore such a bound and remove everything.
    if (below !== undefined && below <= 1) return;
    await this.#link.query(`STREAM.PURGE.${this.stream}`, { filter, ...(below && { seq: below }) }, call);
  }

  async #get(what: object, call: EngineCall): Promise<StoredMessage | null> {
    try {
      const { message } = await this.#link.query<Answer>(`STREAM.MSG.GET.${this.stream}`, what, call);
      return {
        subject: message.subject,
        seq: message.seq,
        headers: message.hdrs ? parseHeaders(atob(message.hdrs)) : {},
        data: Buffer.from(message.data ?? '', 'base64'),
      };
    } catch (error) {
      if (error instanceof RefusedByServer && error.code === NO_MESSAGE) return null;
      throw error;
    }
  }
}
