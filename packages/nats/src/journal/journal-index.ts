/**
 * What a writer knows of one journal: its head, where each commit is, and the hash of every key, so that a key that is stored
 * is known before anything is sent. About 100 bytes an event of the journals in use.
 */
import type { JournalHead } from '@tidemark/core/engine';
import { CHECKPOINT_EVERY, type Checkpoint } from './checkpoints.ts';
import { type CommitHead, headAfter, type KeyHash } from './commits.ts';

export class JournalIndex {
  /** Sequence, in the stream, of the last message of the subject; 0 before the first. */
  last = 0;
  head: JournalHead | null = null;
  tombstone: string | null = null;
  #seqOf = new Map<KeyHash, number>();
  /** First sequences of the commits, and where in the stream they are. */
  #firsts: number[] = [];
  #places: number[] = [];
  /** What no checkpoint has yet. */
  #since: Checkpoint = { commits: [], hashes: [] };

  /** Where its first commit is; no two journals of one name begin at the same place. */
  get origin(): number {
    return this.#places[0] ?? 0;
  }

  /** How many keys it holds. */
  get size(): number {
    return this.#seqOf.size;
  }

  /** Takes in the commit that follows. */
  add(commit: CommitHead, state: string, hashes: readonly KeyHash[], place: number): void {
    if (commit.firstSeq !== (this.head?.seq ?? 0) + 1)
      throw new Error(`A commit begins with ${commit.firstSeq} after ${this.head?.seq ?? 0}`);
    hashes.forEach((hash, at) => {
      this.#seqOf.set(hash, commit.firstSeq + at);
    });
    this.#firsts.push(commit.firstSeq);
    this.#places.push(place);
    this.#since.commits.push([commit.firstSeq, place]);
    this.#since.hashes.push(...hashes);
    this.head = headAfter(commit, state);
    this.tombstone = null;
    this.last = place;
  }

  /** Takes in a step of a restore: its keys and places count once a commit follows. */
  addHidden(part: CommitHead, tombstone: string | null, hashes: readonly KeyHash[], place: number): void {
    this.add(part, '', hashes, place);
    this.tombstone = tombstone;
  }

  /** Takes in a stretch that begins where this index ends; tells whether it does. */
  addCheckpoint({ commits, hashes }: Checkpoint): boolean {
    const firstSeq = commits[0]?.[0];
    if (firstSeq !== (this.head?.seq ?? 0) + 1) return false;
    for (const [first, place] of commits) {
      this.#firsts.push(first);
      this.#places.push(place);
    }
    hashes.forEach((hash, at) => {
      this.#seqOf.set(hash, firstSeq + at);
    });
    // Only the sequence counts: the commit that comes next, or the last one, says the rest.
    this.head = { seq: firstSeq + hashes.length - 1, createdAt: 0, updatedAt: 0, state: '', rewrites: 0 };
    this.last = commits.at(-1)![1];
    return true;
  }

  /** The next stretch that is long enough for a checkpoint, once. */
  takeCheckpoint(): Checkpoint | null {
    const { commits, hashes } = this.#since;
    if (hashes.length < CHECKPOINT_EVERY) return null;
    const start = commits[0]![0];
    const enough = commits.findIndex(([firstSeq]) => firstSeq - start >= CHECKPOINT_EVERY);
    const count = enough === -1 ? commits.length : enough;
    const events = enough === -1 ? hashes.length : commits[enough]![0] - start;
    return { commits: commits.splice(0, count), hashes: hashes.splice(0, events) };
  }

  /** The journal has ended: nothing of it is left but what refuses later commits. */
  end(tombstone: string | null, place: number): void {
    this.clear();
    this.tombstone = tombstone;
    this.last = place;
  }

  clear(): void {
    this.last = 0;
    this.head = null;
    this.tombstone = null;
    this.#seqOf = new Map();
    this.#firsts = [];
    this.#places = [];
    this.#since = { commits: [], hashes: [] };
  }

  seqOf(hash: KeyHash): number | undefined {
    return this.#seqOf.get(hash);
  }

  /** Where in the stream the commit is that holds a sequence. */
  placeOf(seq: number): number {
    let low = 0;
    let high = this.#firsts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#firsts[middle]! <= seq) low = middle + 1;
      else high = middle;
    }
    return this.#places[low - 1] ?? 0;
  }
}
