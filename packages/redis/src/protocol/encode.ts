/**
 * Encodes commands in RESP. A command is kept as text whose characters are its bytes: joining text and writing it in one
 * piece costs less than writing buffers. Only large values stay separate buffers.
 */

export type Argument = string | Buffer;

/** Values up to this size become text. Copying larger ones would cost more than a separate write. */
const MAX_COPIED_BYTES = 4_096;

/** The headers of short arguments. */
const HEADERS = Array.from({ length: 512 }, (_, length) => `$${length}\r\n`);

/** Encodes an argument. */
export function encodeText(text: string): string {
  return encodeBytes(bytesAsText(text));
}

/** Returns the bytes of a text as text whose characters are these bytes. */
export function bytesAsText(text: string): string {
  return Buffer.byteLength(text) === text.length ? text : Buffer.from(text).toString('latin1');
}

/** Encodes an argument whose characters are its bytes. */
function encodeBytes(bytes: string): string {
  return `${HEADERS[bytes.length] ?? `$${bytes.length}\r\n`}${bytes}\r\n`;
}

/** Arguments of a command, encoded one after the other. */
export class Encoded {
  /** How many arguments there are. */
  count = 0;
  bytes = 0;
  /** The text after the last of `#pieces`. */
  #text = '';
  #pieces: Argument[] | null = null;

  add(argument: Argument): this {
    if (typeof argument === 'string') return this.addReady(encodeText(argument));
    const { length } = argument;
    if (length <= MAX_COPIED_BYTES) return this.addReady(encodeBytes(argument.toString('latin1')));
    this.count++;
    this.bytes += length;
    this.#pieces ??= [];
    this.#pieces.push(`${this.#text}$${length}\r\n`, argument);
    this.#text = '\r\n';
    return this;
  }

  /** Adds an argument whose characters are its bytes. */
  addBytes(bytes: string): this {
    return this.addReady(encodeBytes(bytes));
  }

  /** Adds an argument that `encodeText` has encoded. */
  addReady(encoded: string): this {
    this.count++;
    this.bytes += encoded.length;
    this.#text += encoded;
    return this;
  }

  addAll(args: readonly Argument[]): this {
    for (const argument of args) this.add(argument);
    return this;
  }

  /** Appends the arguments of another list. */
  append(other: Encoded): this {
    this.count += other.count;
    this.#join(other);
    return this;
  }

  /** Appends these arguments as a command to the commands in `out`. */
  endCommand(out: Encoded): void {
    out.count++;
    out.#text += `*${this.count}\r\n`;
    out.#join(this);
  }

  /** Passes the bytes on, in pieces. */
  write(write: (piece: Argument) => void): void {
    for (const piece of this.#pieces ?? []) write(piece);
    if (this.#text !== '') write(this.#text);
  }

  #join(other: Encoded): void {
    this.bytes += other.bytes;
    if (other.#pieces) {
      this.#pieces ??= [];
      if (this.#text !== '') this.#pieces.push(this.#text);
      this.#pieces.push(...other.#pieces);
      this.#text = other.#text;
    } else this.#text += other.#text;
  }
}
