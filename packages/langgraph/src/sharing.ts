/**
 * Divides a new version of a value into pieces that are already stored and bytes to store. Some stored pieces are
 * stored again, so that a value needs neither many blobs nor blobs of which it uses only a small part.
 */
import { type Match, matchesOf } from './difference.ts';
import { type BlobRef, isPieced, type Piece, type SharedRef } from './value-refs.ts';

/** If a value needs more blobs than this, the smallest ones are merged, at least `MIN_MERGED` of them. */
const MAX_BLOBS = 8;
const MIN_MERGED = 4;
const MAX_PIECES = 64;
/** A reference to a shorter piece costs about as much as the piece. */
const MIN_PIECE = 64;
/** The minimum share of a blob that a value must use. It limits the bytes that pruning keeps. */
const MIN_USED = 1 / 2;
/** The minimum share of the new version that must already be stored. */
const MIN_SHARED = 1 / 4;

/** Bytes of the new version. Without a piece, they must be stored. */
export interface Part {
  piece: Piece | null;
  at: number;
  length: number;
}

/**
 * Returns the parts of the new version, in order, or `null` if it has too little in common with the old version. `ref`
 * is where the old version is stored.
 */
export function partsOfNext(ref: SharedRef, old: Uint8Array, next: Uint8Array): Part[] | null {
  const pieces = isPieced(ref) ? ref.pieces : [wholeOf(ref, old.length)];
  const found = matchesOf(bufferOf(old), bufferOf(next));
  const parts = withFewBlobs(partsIn(pieces, found, next.length));
  const shared = parts.reduce((sum, { piece, length }) => (piece === null ? sum : sum + length), 0);
  return parts.length > MAX_PIECES || shared < next.length * MIN_SHARED ? null : parts;
}

/** Returns a blob as one piece. Its size is not in references of earlier versions. */
function wholeOf([checkpointId, name, records]: BlobRef, length: number): Piece {
  return { blob: [checkpointId, name, records, length], from: 0, length };
}

/** Describes the new version by the pieces of the old one that the matches cover, and by the bytes between them. */
function partsIn(pieces: readonly Piece[], found: readonly Match[], size: number): Part[] {
  const parts: Part[] = [];
  let at = 0;
  for (const match of found) {
    add(parts, { piece: null, at, length: match.at - at });
    let start = 0;
    for (const { blob, from, length } of pieces) {
      const [first, end] = [Math.max(start, match.from), Math.min(start + length, match.from + match.length)];
      if (end > first) {
        const piece = { blob, from: from + first - start, length: end - first };
        add(parts, { piece, at: match.at + first - match.from, length: end - first });
      }
      start += length;
    }
    at = match.at + match.length;
  }
  add(parts, { piece: null, at, length: size - at });
  return parts;
}

/** Adds a part, or extends the last one by it. */
function add(parts: Part[], { piece, at, length }: Part): void {
  if (length === 0) return;
  const last = parts.at(-1);
  const stored = length < MIN_PIECE ? null : piece;
  const isNext =
    last !== undefined &&
    (stored === null || last.piece === null
      ? stored === last.piece
      : stored.blob === last.piece.blob && stored.from === last.piece.from + last.piece.length);
  if (!isNext) {
    parts.push({ piece: stored, at, length });
    return;
  }
  const piecesLength = last.length + length;
  parts[parts.length - 1] = {
    piece: last.piece && { ...last.piece, length: piecesLength },
    at: last.at,
    length: piecesLength,
  };
}

/** Stores pieces again if little of their blob is used, and those of the smallest blobs if there are too many blobs. */
function withFewBlobs(parts: Part[]): Part[] {
  const used = usedOf(parts);
  const isWaste = ([blob, bytes]: [BlobRef, number]) => bytes < (blob[3] ?? 0) * MIN_USED;
  const again = new Set([...used].filter(isWaste).map(([blob]) => blob));
  for (const blob of again) used.delete(blob);
  if (used.size >= MAX_BLOBS) for (const blob of smallestOf([...used])) again.add(blob);
  return again.size === 0 ? parts : withoutPieces(parts, ({ blob }) => again.has(blob));
}

/**
 * Returns the smallest blobs, and larger ones as long as each is no larger than the sum of those before it. The sizes
 * of a growing value's blobs then grow geometrically, and each byte is stored again only a few times.
 */
function smallestOf(used: [blob: BlobRef, bytes: number][]): ReadonlySet<BlobRef> {
  const smallest = new Set<BlobRef>();
  let sum = 0;
  for (const [blob, bytes] of used.sort(([, a], [, b]) => a - b)) {
    if (smallest.size >= MIN_MERGED && bytes > sum) break;
    smallest.add(blob);
    sum += bytes;
  }
  return smallest;
}

function withoutPieces(parts: readonly Part[], isStoredAgain: (piece: Piece) => boolean): Part[] {
  const left: Part[] = [];
  for (const part of parts)
    add(left, part.piece !== null && isStoredAgain(part.piece) ? { ...part, piece: null } : part);
  return left;
}

/** Returns how many bytes of each blob the parts use. The pieces of a value have one object per blob. */
function usedOf(parts: readonly Part[]): Map<BlobRef, number> {
  const used = new Map<BlobRef, number>();
  for (const { piece } of parts) {
    if (piece !== null) used.set(piece.blob, (used.get(piece.blob) ?? 0) + piece.length);
  }
  return used;
}

function bufferOf(bytes: Uint8Array): Buffer {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
}
