/**
 * Decodes replies in RESP 2. Bulk texts are views of the received bytes, integers are numbers, and errors are
 * `ReplyError`, also within lists.
 */

/** An error that the server replied with. */
export class ReplyError extends Error {
  /** The first word of the message, such as `OOM`. */
  readonly code: string;

  constructor(message: string) {
    super(message);
    this.name = 'ReplyError';
    this.code = /^[A-Z]+/.exec(message)?.[0] ?? 'ERR';
  }
}

/** A reply: text as bytes, a simple text, a number, `null`, an error, or a list of replies. */
export type Reply = unknown;

const CR = 13;
const MINUS = 45;
const ZERO = 48;
const [STATUS, ERROR, INTEGER, BULK, LIST] = [...'+-:$*'].map((it) => it.charCodeAt(0));
const NO_BYTES = Buffer.alloc(0);

/** A list whose elements are still arriving. */
interface OpenList {
  items: Reply[];
  filled: number;
}

/** The bytes are not RESP, so later replies on the connection cannot be decoded either. */
export class ProtocolError extends Error {}

export class ReplyDecoder {
  readonly #onReply: (reply: Reply) => void;
  readonly #open: OpenList[] = [];
  #bytes: Buffer = NO_BYTES;
  #at = 0;
  /** Received after `#bytes`, until together they have `#needed` bytes. */
  #later: Buffer[] = [];
  #received = 0;
  #needed = 0;
  /** The number that `#readNumber` read. */
  #number = 0;

  constructor(onReply: (reply: Reply) => void) {
    this.#onReply = onReply;
  }

  /** Decodes received bytes and reports the replies that are complete. */
  write(chunk: Buffer): void {
    this.#received += chunk.length;
    if (this.#bytes.length === 0 && this.#later.length === 0) this.#bytes = chunk;
    else this.#later.push(chunk);
    // A large value arrives in many chunks, which are joined once.
    if (this.#received < this.#needed) return;
    if (this.#later.length > 0) {
      this.#bytes = Buffer.concat([this.#bytes, ...this.#later]);
      this.#later = [];
    }
    this.#decodeAll();
    this.#bytes = this.#at === this.#bytes.length ? NO_BYTES : this.#bytes.subarray(this.#at);
    this.#at = 0;
    this.#received = this.#bytes.length;
  }

  #decodeAll(): void {
    this.#needed = 0;
    while (this.#at < this.#bytes.length) {
      const start = this.#at;
      const value = this.#decodeOne();
      if (value === undefined) {
        this.#at = start;
        // `#needed` was counted from the start of the bytes, which will begin here.
        this.#needed = Math.max(0, this.#needed - start);
        return;
      }
      if (value !== OPENED) this.#finish(value);
    }
  }

  /** Returns a value, `OPENED` for the start of a list, or `undefined` if bytes are missing. */
  #decodeOne(): Reply {
    const type = this.#bytes[this.#at++]!;
    if (type === STATUS || type === ERROR) {
      const end = this.#bytes.indexOf(CR, this.#at);
      if (end === -1 || end + 1 >= this.#bytes.length) return undefined;
      const text = this.#bytes.toString('utf8', this.#at, end);
      this.#at = end + 2;
      return type === ERROR ? new ReplyError(text) : text;
    }
    if (type !== INTEGER && type !== BULK && type !== LIST)
      throw new ProtocolError(`The server sent byte ${type} where a reply should begin`);
    if (!this.#readNumber()) return undefined;
    const number = this.#number;
    if (type === INTEGER) return number;
    if (number < 0) return null;
    return type === BULK ? this.#takeBulk(number) : this.#openList(number);
  }

  #takeBulk(length: number): Buffer | undefined {
    const from = this.#at;
    const end = from + length;
    if (end + 2 > this.#bytes.length) {
      this.#needed = end + 2;
      return undefined;
    }
    if (this.#bytes[end] !== CR) throw new ProtocolError(`A value of the server is not ${length} bytes long`);
    this.#at = end + 2;
    return this.#bytes.subarray(from, end);
  }

  #openList(length: number): Reply {
    if (length === 0) return [];
    this.#open.push({ items: new Array<Reply>(length), filled: 0 });
    return OPENED;
  }

  /** Puts a value into the innermost open list, and reports it when no list is open. */
  #finish(value: Reply): void {
    let done = value;
    for (;;) {
      const list = this.#open.at(-1);
      if (!list) {
        this.#onReply(done);
        return;
      }
      list.items[list.filled++] = done;
      if (list.filled < list.items.length) return;
      this.#open.pop();
      done = list.items;
    }
  }

  /** Reads a number up to the end of its line. Returns false if bytes are missing. */
  #readNumber(): boolean {
    const bytes = this.#bytes;
    let at = this.#at;
    const isNegative = bytes[at] === MINUS;
    if (isNegative) at++;
    let number = 0;
    for (; at < bytes.length; at++) {
      const byte = bytes[at]!;
      if (byte === CR) {
        if (at + 1 >= bytes.length) return false;
        this.#number = isNegative ? -number : number;
        this.#at = at + 2;
        return true;
      }
      const digit = byte - ZERO;
      if (digit < 0 || digit > 9) throw new ProtocolError(`The server sent byte ${byte} where a digit should be`);
      number = number * 10 + digit;
    }
    return false;
  }
}

const OPENED = Symbol('an open list');
