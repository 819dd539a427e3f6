/**
 * Encodes commands in RESP. A command is kept as text whose characters are its bytes: joining text and writing it in one
 * piece costs less than writing buffers. Only large values stay buffers of their own.
 */

export type Argument = string | Buffer;

/** Values up to this size become text. Copying larger ones would cost more than a write of their own. */
const LARGEST_COPIED = 4_096;

/** The headers of short arguments. */
const HEADERS = Array.from({ length: 512 }, (_, length) => `$${length}\r\n`);

/** Arguments of a command, encoded one after the other. */
export class Encoded {
  /** How many arguments there are. */
  count = 0;
  bytes = 0;
  /** What follows the last of `#pieces`. */
  #text = '';
  #pieces: Argument[] | null = null;

  add(argument: Argument): this {
    this.count++;
    if (typeof argument === 'string') this.#addText(argument);
    else if (argument.length <= LARGEST_COPIED) this.#addBytes(argument.toString('latin1'));
    else {
      const { length } = argument;
      this.#pieces ??= [];
      this.#pieces.push(`${this.#text}$${length}\r\n`, argument);
      this.#text = '\r\n';
      this.bytes += length;
    }
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

  #addText(text: string): void {
    if (Buffer.byteLength(text) === text.length) this.#addBytes(text);
    else this.#addBytes(Buffer.from(text).toString('latin1'));
  }

  #addBytes(bytes: string): void {
    const { length } = bytes;
    this.#text += `${HEADERS[length] ?? `$${length}\r\n`}${bytes}\r\n`;
    this.bytes += length;
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
