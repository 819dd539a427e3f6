/**
 * Finds the parts of a value that an earlier version already contained. It need not find all of them: parts that it
 * misses are stored again.
 */

/** Equal bytes: `length` bytes of the old version starting at `from`, and of the new version starting at `at`. */
export interface Match {
  from: number;
  at: number;
  length: number;
}

/** Shorter matches cost about as much to describe as to store again. */
const MIN_MATCH = 128;
/** A search inserts nothing between two matches if fewer bytes than this are left. */
const MIN_SEARCH = 512;
/** The number of bytes to search for. */
const ANCHOR = 64;
/** The distance of the first anchor from the end of a match, in bytes. Each further anchor is twice as far away. */
const FIRST_SKIP = 32;
const MAX_SEARCHES = 12;
/** The number of bytes of a character after its first one. */
const MAX_REST = 3;
const FIRST_STEP = 1024;
const LAST_STEP = 64 * 1024;

/** Returns matches in the order of the new version. They do not overlap in either version. */
export function matchesOf(old: Buffer, next: Buffer): Match[] {
  const most = Math.min(old.length, next.length);
  const start = equalAfter(old, 0, next, 0, most);
  const end = equalBefore(old, old.length, next, next.length, most - start);
  const matches: Match[] = [];
  if (start >= MIN_MATCH) matches.push({ from: 0, at: 0, length: start });
  const within = { from: start, at: start, oldEnd: old.length - end, nextEnd: next.length - end };
  matches.push(...matchesWithin(old, next, within));
  if (end >= MIN_MATCH) matches.push({ from: old.length - end, at: next.length - end, length: end });
  return matches.map((match) => ofWholeCharacters(match, next));
}

/** Omits characters that a match contains only in part, so that stored bytes stay readable. */
function ofWholeCharacters({ from, at, length }: Match, next: Buffer): Match {
  const isWithin = (position: number) => position < next.length && (next[position]! & 0xc0) === 0x80;
  let [start, end] = [0, length];
  while (start < MAX_REST && isWithin(at + start)) start++;
  while (length - end < MAX_REST && isWithin(at + end)) end--;
  return { from: from + start, at: at + start, length: end - start };
}

/**
 * Finds matches between two ranges, for values in which a part was inserted or removed: takes some bytes of the new
 * version, searches for them in the old one, and extends what it finds in both directions.
 */
function matchesWithin(
  old: Buffer,
  next: Buffer,
  { from, at, oldEnd, nextEnd }: { from: number; at: number; oldEnd: number; nextEnd: number },
): Match[] {
  const matches: Match[] = [];
  const searched = old.subarray(0, oldEnd);
  let skip = FIRST_SKIP;
  for (let searches = 0; searches < MAX_SEARCHES && nextEnd - at >= MIN_SEARCH; searches++) {
    const anchor = at + skip;
    if (anchor + ANCHOR > nextEnd) break;
    const found = searched.indexOf(next.subarray(anchor, anchor + ANCHOR), from);
    if (found !== -1) {
      const before = equalBefore(old, found, next, anchor, Math.min(found - from, anchor - at));
      const after = equalAfter(old, found, next, anchor, Math.min(oldEnd - found, nextEnd - anchor));
      if (before + after >= MIN_MATCH) {
        matches.push({ from: found - before, at: anchor - before, length: before + after });
        from = found + after;
        at = anchor + after;
        skip = FIRST_SKIP;
        continue;
      }
    }
    skip *= 2;
  }
  return matches;
}

/** Returns how many bytes are equal after two positions. */
function equalAfter(a: Buffer, aAt: number, b: Buffer, bAt: number, most: number): number {
  return equalBytes(most, (done, size) => a.compare(b, bAt + done, bAt + done + size, aAt + done, aAt + done + size));
}

/** Returns how many bytes are equal before two positions. */
function equalBefore(a: Buffer, aEnd: number, b: Buffer, bEnd: number, most: number): number {
  return equalBytes(most, (done, size) =>
    a.compare(b, bEnd - done - size, bEnd - done, aEnd - done - size, aEnd - done),
  );
}

/** Compares growing steps until one differs, and then halves of it: comparing bytes one by one is slow. */
function equalBytes(most: number, compare: (done: number, size: number) => number): number {
  let done = 0;
  let end = most;
  for (let step = FIRST_STEP; done < most; step = Math.min(step * 2, LAST_STEP)) {
    const size = Math.min(step, most - done);
    if (compare(done, size) !== 0) {
      end = done + size;
      break;
    }
    done += size;
  }
  if (done === most) return most;
  // The first byte that differs is before `end`.
  while (end - done > 1) {
    const half = (end - done) >>> 1;
    if (compare(done, half) === 0) done += half;
    else end = done + half;
  }
  return done;
}
