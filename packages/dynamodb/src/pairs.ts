/**
 * Encodes lists of names and byte strings. The length of each name and value precedes it, so that bytes are stored
 * unchanged.
 */
export type Pair = readonly [name: string, value: Uint8Array | string];

export function encodePairs(pairs: Iterable<Pair>): Buffer {
  const parts: Uint8Array[] = [];
  for (const pair of pairs) {
    for (const it of pair) {
      const bytes = typeof it === 'string' ? Buffer.from(it) : it;
      const length = Buffer.alloc(4);
      length.writeUInt32BE(bytes.length);
      parts.push(length, bytes);
    }
  }
  return Buffer.concat(parts);
}

/** Returns the number of bytes that a pair takes. */
export function pairBytes([name, value]: Pair): number {
  return 8 + Buffer.byteLength(name) + (typeof value === 'string' ? Buffer.byteLength(value) : value.length);
}

/** Decodes pairs. Returns `null` if the bytes end within a pair. */
export function decodePairs(bytes: Uint8Array): [name: string, value: Buffer][] | null {
  const all = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.length);
  const pairs: [string, Buffer][] = [];
  let at = 0;
  const next = () => {
    const end = at + 4 <= all.length ? at + 4 + all.readUInt32BE(at) : all.length + 1;
    if (end > all.length) return null;
    const part = all.subarray(at + 4, end);
    at = end;
    return part;
  };
  while (at < all.length) {
    const [name, value] = [next(), next()];
    if (!name || !value) return null;
    pairs.push([name.toString(), value]);
  }
  return pairs;
}
