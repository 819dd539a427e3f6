/**
 * Server-sent events for one reader, from one or several topics. While the reader's socket is full, the server reads
 * nothing for the reader. It then keeps at most a page, and after a while only the reader's cursor, from which the
 * stream resumes.
 */
import type { ServerResponse } from 'node:http';
import { CAUGHT_UP_EVENT, END_EVENT, EVENT_STREAM, PROBLEM_EVENT, RESET_EVENT } from '@tidemark/wire';
import { problemOf } from '../http/problems.ts';
import { PAGE_CHARACTERS } from './page-size.ts';
import type { StreamItem, StreamPage, Waiter } from './source.ts';
import type { Topic } from './topic.ts';

const RETRY_MS = 1_000;
export const STREAM_HEAD = {
  'content-type': EVENT_STREAM,
  'cache-control': 'no-store',
  'x-accel-buffering': 'no',
  'x-content-type-options': 'nosniff',
};

/** A topic to read, the cursor to start after, and the name of the topic in a stream of several topics. */
export interface Subscription {
  topic: Topic;
  after: string | null;
  name?: string;
}

/** One topic of a stream, and the reader's position in it. */
class Reading implements Waiter {
  readonly topic: Topic;
  readonly name: string | undefined;
  readonly #stream: EventStream;
  cursor: string | null;
  /** Whether there may be more to read. */
  isBehind = true;
  #isReading = false;
  /**
   * Items that were read but not written yet. They are kept, because reading them again whenever the socket accepts a
   * few events would cost far more.
   */
  #kept: readonly StreamItem[] = [];
  #nextKept = 0;
  #isCaughtUp = false;

  constructor(stream: EventStream, { topic, after, name }: Subscription) {
    this.#stream = stream;
    this.topic = topic;
    this.cursor = after;
    this.name = name;
  }

  wake(): void {
    this.isBehind = true;
    void this.pump();
  }

  /** Reads and writes until there is nothing more to read or the socket is full. */
  async pump(): Promise<void> {
    if (this.#isReading) return;
    this.#isReading = true;
    try {
      while (this.isBehind && this.#stream.isOpen && !this.#stream.isFull) {
        if (this.#nextKept < this.#kept.length) {
          this.#sendKept();
          continue;
        }
        this.isBehind = false;
        const page = await this.topic.page(this.cursor);
        if (!this.#stream.isOpen) return;
        this.#take(page);
      }
    } catch (error) {
      this.#stream.fail(error);
    } finally {
      this.#isReading = false;
    }
  }

  #take(page: StreamPage): void {
    if (page.isReset) this.#stream.write(`event: ${RESET_EVENT}\ndata: {}\n\n`);
    if (page.items.length > 0) {
      this.isBehind = true;
      this.#kept = beginningOf(page.items);
      this.#nextKept = 0;
      this.#sendKept();
      return;
    }
    this.cursor = page.cursor ?? this.cursor;
    if (!this.#isCaughtUp) this.#stream.sendCaughtUp(this);
    this.#isCaughtUp = true;
    this.topic.listen(this.cursor);
  }

  #sendKept(): void {
    while (this.#nextKept < this.#kept.length) {
      const item = this.#kept[this.#nextKept++]!;
      this.cursor = item.cursor;
      if (!this.#stream.send(this, item)) return;
    }
    this.letGo();
  }

  /** Drops the kept items. They are read again once there is room. */
  letGo(): void {
    this.#kept = [];
    this.#nextKept = 0;
  }
}

/** Returns the first items, at least one and no more than may be kept. */
function beginningOf(items: readonly StreamItem[]): readonly StreamItem[] {
  let characters = 0;
  const end = items.findIndex(({ data }) => {
    characters += data.length;
    return characters > PAGE_CHARACTERS;
  });
  return end < 0 ? items : items.slice(0, Math.max(1, end));
}

export class EventStream {
  readonly #response: ServerResponse;
  readonly #readings: readonly Reading[];
  readonly #onClose: () => void;
  isFull = false;

  constructor(
    response: ServerResponse,
    subscriptions: readonly Subscription[],
    onClose: (stream: EventStream) => void,
  ) {
    this.#response = response;
    this.#onClose = () => onClose(this);
    this.#readings = subscriptions.map((it) => new Reading(this, it));
    response.writeHead(200, STREAM_HEAD);
    response.on('close', () => this.#end());
    response.on('drain', () => this.#resume());
    this.write(`retry: ${RETRY_MS}\n\n`);
    for (const reading of this.#readings) {
      reading.topic.add(reading);
      void reading.pump();
    }
  }

  get isOpen(): boolean {
    return !this.#response.writableEnded && !this.#response.destroyed;
  }

  /** Writes text. Returns false if the socket is full. */
  write(text: string): boolean {
    if (this.isOpen && !this.#response.write(text)) this.isFull = true;
    return !this.isFull;
  }

  send(reading: Reading, item: StreamItem): boolean {
    reading.topic.chargeDelivery();
    if (reading.name === undefined) {
      item.text ??= `id: ${item.cursor}\nevent: ${item.event}\ndata: ${item.data}\n\n`;
      return this.write(item.text);
    }
    const data = `{"topic":${JSON.stringify(reading.name)},"item":${item.data}}`;
    return this.write(`id: ${this.#position()}\nevent: ${item.event}\ndata: ${data}\n\n`);
  }

  /** Reports that all stored items were sent and that the items that follow are new. */
  sendCaughtUp(reading: Reading): void {
    const data = reading.name === undefined ? '{}' : JSON.stringify({ topic: reading.name });
    const id = reading.name === undefined ? reading.cursor : this.#position();
    this.write(`${id === null ? '' : `id: ${id}\n`}event: ${CAUGHT_UP_EVENT}\ndata: ${data}\n\n`);
  }

  /**
   * Prevents proxies and readers from treating silence as the end of the stream. Readers with a full socket keep only
   * their cursor.
   */
  beat(): void {
    if (this.isFull) for (const reading of this.#readings) reading.letGo();
    else this.write(':\n\n');
  }

  /** Ends the stream with an error. The reader resumes after its last id, unless resuming cannot help. */
  fail(error: unknown): void {
    this.write(`event: ${PROBLEM_EVENT}\ndata: ${JSON.stringify(problemOf(error, this.#response))}\n\n`);
    this.#response.end();
    this.#end();
  }

  /**
   * Ends the stream because the server is stopping. The reader resumes after its last id, on this server or on another.
   */
  finish(): void {
    this.write(`event: ${END_EVENT}\ndata: {}\n\n`);
    this.#response.end();
    this.#end();
  }

  /** Returns an id for `decodePosition`. Uses a buffer for speed: every event needs a new id. */
  #position(): string {
    const cursors = this.#readings.map(({ name, cursor }) => [name, cursor]);
    return Buffer.from(JSON.stringify(cursors)).toString('base64url');
  }

  #resume(): void {
    this.isFull = false;
    for (const reading of this.#readings) if (reading.isBehind) void reading.pump();
  }

  #end(): void {
    for (const reading of this.#readings) reading.topic.remove(reading);
    this.#onClose();
  }
}
