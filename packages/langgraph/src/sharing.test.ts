/** New versions of values are put together from pieces of old ones. */
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { matchesOf } from './difference.ts';
import { partsOfNext } from './sharing.ts';
import { type BlobRef, blobId, blobsOf, isPieced, type Piece, type SharedRef } from './value-refs.ts';

/** Stores versions of a value as the saver does, without a store. */
class Versions {
  readonly blobs = new Map<string, Buffer>();
  stored = 0;
  #ref: SharedRef | null = null;
  #bytes: Buffer = Buffer.alloc(0);

  add(next: Buffer): void {
    const parts = this.#ref && partsOfNext(this.#ref, this.#bytes, next);
    this.#ref = parts ? { id: '', type: 'json', pieces: this.#piecesOf(parts, next) } : this.#blobOf(next);
    this.#bytes = next;
  }

  get value(): Buffer {
    const pieces: readonly Piece[] = isPieced(this.#ref!)
      ? this.#ref.pieces
      : [{ blob: this.#ref!, from: 0, length: this.#ref![3]! }];
    return Buffer.concat(
      pieces.map(({ blob, from, length }) => this.blobs.get(blobId(blob))!.subarray(from, from + length)),
    );
  }

  /** The blobs that the last version needs. */
  get needed(): Buffer[] {
    return [...new Set(blobsOf(this.#ref!).map(blobId))].map((id) => this.blobs.get(id)!);
  }

  get pieces(): number {
    return isPieced(this.#ref!) ? this.#ref.pieces.length : 1;
  }

  #piecesOf(parts: NonNullable<ReturnType<typeof partsOfNext>>, next: Buffer): Piece[] {
    const fresh = parts.filter(({ piece }) => piece === null);
    const blob = this.#blobOf(Buffer.concat(fresh.map(({ at, length }) => next.subarray(at, at + length))));
    let from = 0;
    return parts.map(({ piece, length }) => {
      if (piece !== null) return piece;
      from += length;
      return { blob, from: from - length, length };
    });
  }

  #blobOf(bytes: Buffer): BlobRef {
    const ref: BlobRef = ['1f0', `b${this.blobs.size}`, 0, bytes.length];
    this.blobs.set(blobId(ref), bytes);
    this.stored += bytes.length;
    return ref;
  }
}

/** Text that is different for each seed. */
function words(seed: number, count: number): string {
  return Array.from({ length: count }, (_, at) =>
    Math.sin(seed * 1_000 + at)
      .toString(36)
      .slice(3, 8),
  ).join(' ');
}

const message = (seed: number, count = 100) =>
  `{"type":"human","kwargs":{"content":"${words(seed, count)}","id":"m${seed}"}}`;
const listOf = (messages: readonly string[]) => Buffer.from(`[${messages.join(',')}]`);

/** Stores versions of a list of messages and returns them with the size of all of them. */
function versionsOf(count: number, change: (messages: string[], step: number) => void): [Versions, whole: number] {
  const [versions, messages] = [new Versions(), [] as string[]];
  let whole = 0;
  for (let step = 0; step < count; step++) {
    change(messages, step);
    const next = listOf(messages);
    versions.add(next);
    whole += next.length;
    expect(versions.value.equals(next)).toBe(true);
  }
  return [versions, whole];
}

describe('the stored bytes of', () => {
  it('a chat that grows to 200 messages are a few times its size', () => {
    const [versions, whole] = versionsOf(200, (messages, step) => messages.push(message(step)));
    expect(versions.stored).toBeLessThan(4 * versions.value.length);
    expect(versions.stored).toBeLessThan(whole / 20);
  });

  it('a chat that forgets its oldest message at every step are those of its messages', () => {
    const [versions] = versionsOf(200, (messages, step) => {
      messages.push(message(step));
      if (messages.length > 20) messages.shift();
    });
    expect(versions.stored).toBeLessThan(4 * 200 * message(0).length);
  });

  it('a list whose messages change one after the other are those of the changes', () => {
    const [versions] = versionsOf(200, (messages, step) => {
      messages[step % 40] = message(step);
    });
    expect(versions.stored).toBeLessThan(5 * 200 * message(0).length);
  });

  it('values with a length at their beginning, as MessagePack writes them, are those of what is new', () => {
    const versions = new Versions();
    let body = Buffer.alloc(0);
    for (let step = 1; step <= 100; step++) {
      body = Buffer.concat([body, Buffer.from(message(step))]);
      versions.add(Buffer.concat([Buffer.of(0xdc, step >> 8, step & 0xff), body]));
    }
    expect(versions.value.subarray(3).equals(body)).toBe(true);
    expect(versions.stored).toBeLessThan(4 * body.length);
  });

  it('unrelated values are their own', () => {
    const [versions, whole] = versionsOf(5, (messages, step) => {
      messages.splice(0, 10, ...Array.from({ length: 10 }, (_, at) => words(step * 10 + at, 200)));
    });
    expect(versions.stored).toBe(whole);
    expect(versions.needed).toHaveLength(1);
  });
});

const edit = fc.record({
  kind: fc.constantFrom('append', 'insert', 'remove', 'replace', 'repeat', 'swap', 'nothing'),
  at: fc.nat(1_000),
  count: fc.nat(12),
  size: fc.constantFrom(0, 3, 40, 300, 2_000),
  seed: fc.nat(5),
});
type Edit = typeof edit extends fc.Arbitrary<infer It> ? It : never;

function applyTo(messages: string[], { kind, at, count, size, seed }: Edit): void {
  const place = at % (messages.length + 1);
  if (kind === 'append') messages.push(message(seed, size));
  if (kind === 'insert') messages.splice(place, 0, message(seed, size));
  if (kind === 'remove') messages.splice(place, count);
  if (kind === 'replace') messages.splice(place, count, message(seed, size));
  if (kind === 'repeat') messages.push(...messages.slice(place, place + count));
  if (kind === 'swap') messages.unshift(...messages.splice(place));
}

describe('after any changes', () => {
  it('a value is what was stored, and needs few blobs of which it uses at least half', () => {
    fc.assert(
      fc.property(fc.array(edit, { maxLength: 60 }), (edits) => {
        const [versions, messages] = [new Versions(), [] as string[]];
        for (const one of edits) {
          applyTo(messages, one);
          const next = listOf(messages.slice(0, 500));
          versions.add(next);
          expect(versions.value.equals(next)).toBe(true);
          expect(versions.needed.length).toBeLessThanOrEqual(8);
          expect(versions.pieces).toBeLessThanOrEqual(64);
          const kept = versions.needed.reduce((sum, { length }) => sum + length, 0);
          expect(kept).toBeLessThanOrEqual(2 * next.length);
        }
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  it('matches are equal, in order, and do not overlap', () => {
    const bytes = fc.array(edit, { maxLength: 30 }).map((edits) => {
      const messages: string[] = [];
      for (const one of edits) applyTo(messages, one);
      return listOf(messages.slice(0, 200));
    });
    fc.assert(
      fc.property(bytes, bytes, (old, next) => {
        let [from, at] = [0, 0];
        for (const match of matchesOf(old, next)) {
          expect(match.from).toBeGreaterThanOrEqual(from);
          expect(match.at).toBeGreaterThanOrEqual(at);
          from = match.from + match.length;
          at = match.at + match.length;
          expect(old.subarray(match.from, from).equals(next.subarray(match.at, at))).toBe(true);
        }
        expect(at).toBeLessThanOrEqual(next.length);
      }),
      { numRuns: 500, seed: 7 },
    );
  });

  it('no character is divided', () => {
    const character = fc.constantFrom('a', 'é', 'è', '世', '不', '😀', '😁');
    const text = fc.array(character, { minLength: 200, maxLength: 400 }).map((characters) => characters.join(''));
    fc.assert(
      fc.property(text, fc.nat(400), character, text, (shared, place, other, end) => {
        const at = [...shared].slice(0, place).join('').length;
        const old = Buffer.from(shared + end);
        const next = Buffer.from(shared.slice(0, at) + other + shared.slice(at) + end);
        for (const match of matchesOf(old, next)) {
          const bytes = next.subarray(match.at, match.at + match.length);
          expect(Buffer.from(bytes.toString('utf8')).equals(bytes)).toBe(true);
        }
      }),
      { numRuns: 300, seed: 7 },
    );
  });

  it('the beginning and the end that two versions share are found to the last byte', () => {
    fc.assert(
      fc.property(fc.nat(9_000), fc.nat(9_000), fc.integer({ min: 1, max: 400 }), (start, end, changed) => {
        const [before, after] = [words(1, 1_800).slice(0, start), words(2, 1_800).slice(0, end)];
        const old = Buffer.from(`${before}<${'o'.repeat(changed)}>${after}`);
        const next = Buffer.from(`${before}[${'n'.repeat(changed)}]${after}`);
        const found = matchesOf(old, next);
        if (before.length >= 128) expect(found[0]).toEqual({ from: 0, at: 0, length: before.length });
        if (after.length >= 128) expect(found.at(-1)!.length).toBe(after.length);
      }),
      { numRuns: 300, seed: 7 },
    );
  });
});
