/**
 * Remembers the front of each bucket of a queue: its first ready job, and when its first delayed one is due. A front is
 * valid while the bucket has the revision at which it was read, which the script of a claim compares. Claims then read
 * only the buckets that other processes have changed.
 */
import { Encoded } from './protocol/encode.ts';

/** More claims change most buckets anyway. */
const MAX_CLAIMS = 16;
/**
 * A failover may lose changes, and later ones count up to the same revision again. After this time all fronts are read
 * again, so that no job waits longer because of that.
 */
const KEPT_MS = 200;

/**
 * In the form of the reply: the number of the bucket from 1, its revision, its first ready entry, and when a delayed
 * job is due.
 */
export type NewFront = readonly [bucket: number, revision: number, member: Buffer, due: number];

const NONE = -1;
const AS_BEFORE = -2;

/**
 * The latest consecutive changes of each bucket by this process that made no job ready or delayed. A front that was
 * read before these changes is still valid after them.
 */
export class HarmlessChanges {
  /** The revision before the first of them, and that of the last. */
  readonly #before: number[] = [];
  readonly #last: number[] = [];

  note(bucket: number, revision: number): void {
    if (this.#last[bucket] !== revision - 1) this.#before[bucket] = revision - 1;
    this.#last[bucket] = revision;
  }

  /** Returns the revision of a bucket after changes that do not affect a front of an earlier revision. */
  after(bucket: number, revision: number): number {
    const last = this.#last[bucket];
    return last !== undefined && revision >= this.#before[bucket]! && revision < last ? last : revision;
  }
}

interface Front {
  revision: number;
  member: Encoded;
  due: number;
}

export class ClaimFronts {
  readonly #harmless: HarmlessChanges;
  #fronts: Front[] = [];
  #readAt = Number.NEGATIVE_INFINITY;

  constructor(harmless: HarmlessChanges) {
    this.#harmless = harmless;
  }

  /** Forgets fronts that these claims may not use. Returns whether to ask for new ones. */
  prepare(claims: number, checksDue: boolean): boolean {
    const isWanted = claims <= MAX_CLAIMS && checksDue;
    if (!isWanted || performance.now() - this.#readAt > KEPT_MS) this.forget();
    return isWanted;
  }

  get count(): number {
    return this.#fronts.length;
  }

  /** Appends when the first delayed job is due, and the fronts. */
  encode(args: Encoded): void {
    let due = NONE;
    for (const front of this.#fronts) if (front.due !== NONE && (due === NONE || front.due < due)) due = front.due;
    args.addBytes(String(due));
    for (const [bucket, { revision, member }] of this.#fronts.entries())
      args.addBytes(String(this.#harmless.after(bucket, revision))).append(member);
  }

  /** Stores the fronts of a reply. `sentAt` is the time at which the script was sent. */
  update(fronts: readonly NewFront[], sentAt: number): void {
    if (this.count === 0) this.#readAt = sentAt;
    for (const [number, revision, member, due] of fronts) {
      const before = this.#fronts[number - 1];
      const front = { revision, member: new Encoded().add(member), due: due === AS_BEFORE ? before!.due : due };
      this.#fronts[number - 1] = front;
    }
  }

  forget(): void {
    this.#fronts = [];
  }
}
