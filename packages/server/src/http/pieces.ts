/**
 * The pieces in which a body or a line arrives, until it is complete. Small pieces are copied into blocks, because each
 * buffer is an object and a body in chunks of one byte would take a thousand times its size.
 */

const SMALL_BYTES = 4_096;
const BLOCK_BYTES = 64 * 1024;
/** The overhead of a piece, in addition to its bytes. */
const PIECE_BYTES = 512;

export class Pieces {
  #pieces: Buffer[] = [];
  #block: Buffer | null = null;
  #blockBytes = 0;
  /** The total size of all pieces in bytes. */
  bytes = 0;

  /** Returns the memory that keeping a piece would take. */
  costOf({ length }: Buffer): number {
    return this.#isJoined(length) ? (this.#fits(length) ? 0 : BLOCK_BYTES) : length + PIECE_BYTES;
  }

  add(piece: Buffer): void {
    this.bytes += piece.length;
    if (this.#isJoined(piece.length)) this.#join(piece);
    else {
      this.#endBlock();
      this.#pieces.push(piece);
    }
  }

  /** Returns all bytes in order, with an optional last piece, and clears the pieces. */
  take(last?: Buffer): Buffer {
    this.#endBlock();
    if (last !== undefined) this.#pieces.push(last);
    const whole = this.#pieces.length === 1 ? this.#pieces[0]! : Buffer.concat(this.#pieces);
    this.#pieces = [];
    this.bytes = 0;
    return whole;
  }

  /** Whether a piece is copied into a block. The first piece is not copied, because most bodies have only one piece. */
  #isJoined(length: number): boolean {
    return length < SMALL_BYTES && (this.#pieces.length > 0 || this.#block !== null);
  }

  #fits(length: number): boolean {
    return this.#block !== null && this.#blockBytes + length <= BLOCK_BYTES;
  }

  #join(piece: Buffer): void {
    if (!this.#fits(piece.length)) {
      this.#endBlock();
      this.#block = Buffer.allocUnsafe(BLOCK_BYTES);
    }
    piece.copy(this.#block!, this.#blockBytes);
    this.#blockBytes += piece.length;
  }

  #endBlock(): void {
    if (this.#block !== null) this.#pieces.push(this.#block.subarray(0, this.#blockBytes));
    this.#block = null;
    this.#blockBytes = 0;
  }
}
