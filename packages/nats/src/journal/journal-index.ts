/**
 * A writer's index of one journal: its head, the position of each commit, and the hash of every key, so that a stored
 * key is detected before anything is sent. An index takes about 100 bytes per event.
 */
import type { JournalHead } from '@tidemark/core/engine';
import { CHECKPOINT_EVERY, type Checkpoint } from './checkpoints.ts';
import { type CommitHead, headAfter, type KeyHash } from './commits.ts';

export class JournalIndex {
  /** Stream sequence of the last message of the subject; 0 if there is none. */
  last = 0;
  head: JournalHead | null = null;
  tombstone: string | null = null;
  #seqOf = new Map<KeyHash, number>();
  /** The first sequence of each commit, and its stream sequence. */
  #firsts: number[] = [];
  #streamSeqs: number[] = [];
  /** Commits and hashes that are not in a checkpoint yet. */
  #since: Checkpoint = { commits: [], hashes: [] };

  /** Stream sequence of the first commit, which distinguishes journals that had the same name one after the other. */
  get origin(): number {
    return this.#streamSeqs[0] ?? 0;
  }

  /** Number of keys. */
  get size(): number {
    return this.#seqOf.size;
  }

  /** Adds the next commit. */
  add(commit: CommitHead, state: string, hashes: readonly KeyHash[], streamSeq: number): void {
    if (commit.firstSeq !== (this.head?.seq ?? 0) + 1)
      throw new Error(`A commit begins with ${commit.firstSeq} after ${this.head?.seq ?? 0}`);
    hashes.forEach((hash, at) => {
      this.#seqOf.set(hash, commit.firstSeq + at);
    });
    this.#firsts.push(commit.firstSeq);
    this.#streamSeqs.push(streamSeq);
    this.#since.commits.push([commit.firstSeq, streamSeq]);
    this.#since.hashes.push(...hashes);
    this.head = headAfter(commit, state);
    this.tombstone = null;
    this.last = streamSeq;
  }

  /** Adds a step of a restore. Its entries count only once a commit follows. */
  addHidden(part: CommitHead, tombstone: string | null, hashes: readonly KeyHash[], streamSeq: number): void {
    this.add(part, '', hashes, streamSeq);
    this.tombstone = tombstone;
  }

  /** Adds a checkpoint if it begins where this index ends, and returns whether it did. */
  addCheckpoint({ commits, hashes }: Checkpoint): boolean {
    const firstSeq = commits[0]?.[0];
    if (firstSeq !== (this.head?.seq ?? 0) + 1) return false;
    for (const [first, streamSeq] of commits) {
      this.#firsts.push(first);
      this.#streamSeqs.push(streamSeq);
    }
    hashes.forEach((hash, at) => {
      this.#seqOf.set(hash, firstSeq + at);
    });
    // Only the sequence matters here. The next commit, or the last one, sets the other members.
    this.head = { seq: firstSeq + hashes.length - 1, createdAt: 0, updatedAt: 0, state: '', rewrites: 0 };
    this.last = commits.at(-1)![1];
    return true;
  }

  /** Returns the next range that is long enough for a checkpoint. Returns each range once. */
  takeCheckpoint(): Checkpoint | null {
    const { commits, hashes } = this.#since;
    if (hashes.length < CHECKPOINT_EVERY) return null;
    const start = commits[0]![0];
    const enough = commits.findIndex(([firstSeq]) => firstSeq - start >= CHECKPOINT_EVERY);
    const count = enough === -1 ? commits.length : enough;
    const events = enough === -1 ? hashes.length : commits[enough]![0] - start;
    return { commits: commits.splice(0, count), hashes: hashes.splice(0, events) };
  }

  /** Ends the journal. Keeps only a tombstone, which refuses later commits. */
  end(tombstone: string | null, streamSeq: number): void {
    this.clear();
    this.tombstone = tombstone;
    this.last = streamSeq;
  }

  clear(): void {
    this.last = 0;
    this.head = null;
    this.tombstone = null;
    this.#seqOf = new Map();
    this.#firsts = [];
    this.#streamSeqs = [];
    this.#since = { commits: [], hashes: [] };
  }

  seqOf(hash: KeyHash): number | undefined {
    return this.#seqOf.get(hash);
  }

  /** Returns the stream sequence of the commit that holds a sequence. */
  streamSeqOf(seq: number): number {
    let low = 0;
    let high = this.#firsts.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (this.#firsts[middle]! <= seq) low = middle + 1;
      else high = middle;
    }
    return this.#streamSeqs[low - 1] ?? 0;
  }
}
