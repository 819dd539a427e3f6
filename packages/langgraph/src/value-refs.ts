/**
 * Where the values of a checkpoint are stored: in its record, in a blob, or in pieces of several blobs. A value that
 * grows, such as the messages of a chat, consists of pieces that earlier checkpoints have stored and of new bytes.
 */

/**
 * A blob: the checkpoint that wrote it, its name, the number of records that store it, and its size. With 0 records, it
 * is a field of its checkpoint's record. Blobs of versions before 0.2 have no size here, and always have records.
 */
export type BlobRef = readonly [checkpointId: string, name: string, records: number, bytes?: number];

/** Consecutive bytes of a blob. The pieces of a value refer to the same blob by the same object. */
export interface Piece {
  blob: BlobRef;
  from: number;
  length: number;
}

/** A value that consists of pieces. `id` is random, and `type` names the format of the value. */
export interface PiecedValue {
  id: string;
  type: string;
  pieces: readonly Piece[];
}

/** Where a value is stored: in a frame of the checkpoint's record (its index), in a blob, or in pieces of blobs. */
export type ValueRef = number | BlobRef | PiecedValue;

/** A reference to a value outside the frames of the checkpoint's record. */
export type SharedRef = BlobRef | PiecedValue;

/** The form of a reference in the header of a checkpoint. `p` contains three numbers per piece: index in `b`, `from`, `length`. */
export type StoredRef = number | BlobRef | { i: string; t: string; b: BlobRef[]; p: number[] };

export function isPieced(ref: SharedRef): ref is PiecedValue {
  return !Array.isArray(ref);
}

/** Returns the blobs that a value needs, possibly with repetitions. */
export function blobsOf(ref: SharedRef): BlobRef[] {
  return isPieced(ref) ? ref.pieces.map(({ blob }) => blob) : [ref];
}

/** Returns a string that is unique to each blob of a namespace. */
export function blobId([checkpointId, name]: BlobRef): string {
  return `${checkpointId} ${name}`;
}

/** Returns a string that is unique to each value of a namespace. That of a blob is its `blobId`. */
export function valueId(ref: SharedRef): string {
  return isPieced(ref) ? ref.id : blobId(ref);
}

export function storedRef(ref: ValueRef): StoredRef {
  if (typeof ref === 'number' || !isPieced(ref)) return ref;
  const indexes = new Map<BlobRef, number>();
  const numbers: number[] = [];
  for (const { blob, from, length } of ref.pieces) {
    let index = indexes.get(blob);
    if (index === undefined) {
      index = indexes.size;
      indexes.set(blob, index);
    }
    numbers.push(index, from, length);
  }
  return { i: ref.id, t: ref.type, b: [...indexes.keys()], p: numbers };
}

export function parseRef(stored: StoredRef): ValueRef {
  if (typeof stored === 'number' || !('p' in stored)) return stored;
  const { i: id, t: type, b: blobs, p: numbers } = stored;
  const pieces: Piece[] = [];
  for (let at = 0; at < numbers.length; at += 3) {
    pieces.push({ blob: blobs[numbers[at]!]!, from: numbers[at + 1]!, length: numbers[at + 2]! });
  }
  return { id, type, pieces };
}
