/**
 * Arrays in the server's binary format. A Buffer parameter is sent unchanged, without escaping on the client or parsing
 * on the server, which matters for a statement with two dozen arrays.
 */

/** Element types of the server by their object ids. */
const OIDS = { int4: 23, int8: 20, text: 25, json: 114, bytea: 17 } as const;

export type ElementType = keyof typeof OIDS;

const HEADER_BYTES = 20;
const EMPTY_BYTES = 12;
const HALF = 0x1_0000_0000;
/** Small, because a single call builds two dozen arrays of a few bytes. */
const INITIAL_BYTES = 256;
/** Columns that have grown larger are not kept for the next statement. */
const MAX_KEPT_BYTES = 256 * 1024;
/** How many sets of columns are kept for each list of types. More are needed only while statements run concurrently. */
const MAX_KEPT_SETS = 4;

/** An array that grows at its end. Text, JSON and digests (as latin1 text) are strings, integers are numbers. */
export class BinaryArray {
  readonly #type: ElementType;
  #bytes = Buffer.allocUnsafe(INITIAL_BYTES);
  #end = HEADER_BYTES;
  #length = 0;
  #hasNull = false;

  constructor(type: ElementType) {
    this.#type = type;
  }

  push(value: string | number | null): void {
    this.#length++;
    if (value === null) {
      this.#hasNull = true;
      this.#reserve(4);
      this.#end = this.#bytes.writeInt32BE(-1, this.#end);
    } else if (typeof value === 'number') this.#pushInteger(value);
    else this.#pushText(value, this.#type === 'bytea' ? 'latin1' : 'utf8');
  }

  /** Appends the bytes of a `bytea`. */
  pushBytes(value: Uint8Array): void {
    this.#length++;
    this.#reserve(4 + value.length);
    this.#end = this.#bytes.writeInt32BE(value.length, this.#end);
    this.#bytes.set(value, this.#end);
    this.#end += value.length;
  }

  #pushInteger(value: number): void {
    this.#reserve(12);
    const size = this.#type === 'int8' ? 8 : 4;
    this.#end = this.#bytes.writeInt32BE(size, this.#end);
    if (size === 4) this.#end = this.#bytes.writeInt32BE(value, this.#end);
    else {
      // Written as two halves, because a bigint would allocate an object for every value.
      const high = Math.floor(value / HALF);
      this.#end = this.#bytes.writeInt32BE(high, this.#end);
      this.#end = this.#bytes.writeUInt32BE(value - high * HALF, this.#end);
    }
  }

  #pushText(value: string, encoding: 'utf8' | 'latin1'): void {
    // A UTF-16 unit takes at most three bytes.
    this.#reserve(4 + value.length * 3);
    const size = this.#bytes.write(value, this.#end + 4, encoding);
    this.#bytes.writeInt32BE(size, this.#end);
    this.#end += 4 + size;
  }

  #reserve(bytes: number): void {
    if (this.#end + bytes <= this.#bytes.length) return;
    const grown = Buffer.allocUnsafe(Math.max(this.#bytes.length * 2, this.#end + bytes));
    this.#bytes.copy(grown, 0, 0, this.#end);
    this.#bytes = grown;
  }

  /**
   * Returns the parameter: one dimension that starts at 1, or no dimension when empty. It is valid until the array is
   * cleared.
   */
  finish(): Buffer {
    const isEmpty = this.#length === 0;
    this.#bytes.writeInt32BE(isEmpty ? 0 : 1, 0);
    this.#bytes.writeInt32BE(this.#hasNull ? 1 : 0, 4);
    this.#bytes.writeInt32BE(OIDS[this.#type], 8);
    if (isEmpty) return this.#bytes.subarray(0, EMPTY_BYTES);
    this.#bytes.writeInt32BE(this.#length, 12);
    this.#bytes.writeInt32BE(1, 16);
    return this.#bytes.subarray(0, this.#end);
  }

  /** Removes all values. Keeps the memory unless it is large. */
  clear(): void {
    if (this.#bytes.length > MAX_KEPT_BYTES) this.#bytes = Buffer.allocUnsafe(INITIAL_BYTES);
    this.#end = HEADER_BYTES;
    this.#length = 0;
    this.#hasNull = false;
  }
}

/**
 * The columns of statements. Their memory is reused, because with new arrays for every statement, garbage collection
 * took a tenth of the client's time.
 */
export class ColumnSets {
  readonly #types: readonly ElementType[];
  readonly #free: BinaryArray[][] = [];

  constructor(types: readonly ElementType[]) {
    this.#types = types;
  }

  /** Returns empty columns, one for each type. */
  take(): BinaryArray[] {
    return this.#free.pop() ?? this.#types.map((type) => new BinaryArray(type));
  }

  /** Takes columns back whose values the driver has sent. */
  giveBack(columns: BinaryArray[]): void {
    if (this.#free.length === MAX_KEPT_SETS) return;
    for (const column of columns) column.clear();
    this.#free.push(columns);
  }
}
