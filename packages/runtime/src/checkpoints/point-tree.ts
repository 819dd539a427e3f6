/**
 * The Merkle tree over the points of all runs. A point is the state of one run at a checkpoint. The tree is kept
 * between checkpoints: changing a run only requires hashing the nodes on its path. Adding a run also requires hashing
 * the nodes after it.
 */
import { leafOfPoint, nodeOf, type RunPoint, rootOfNothing } from './format.ts';

interface Leaf {
  tenant: Buffer;
  run: Buffer;
  hash: Buffer;
}

export class PointTree {
  /** Ordered by the UTF-8 bytes of tenant and run. */
  #leaves: Leaf[] = [];
  /** Nodes by level above the leaves. The last level has a single node. */
  #levels: Buffer[][] = [];

  get size(): number {
    return this.#leaves.length;
  }

  get root(): string {
    const top = this.#levels.at(-1)?.[0] ?? this.#leaves[0]?.hash;
    return top ? top.toString('hex') : rootOfNothing();
  }

  /** Sets the points of some runs, each at most once. */
  set(points: Iterable<RunPoint>): void {
    const changed = new Set<number>();
    const added: Leaf[] = [];
    for (const point of points) {
      const leaf = leafOf(point);
      const at = this.#indexOf(leaf);
      const known = this.#leaves[at];
      if (known && compare(known, leaf) === 0) {
        known.hash = leaf.hash;
        changed.add(at);
      } else added.push(leaf);
    }
    const from = this.#add(added);
    this.#rehash(
      [...changed].filter((at) => at < from),
      from,
    );
  }

  /** Inserts leaves and returns the index from which leaves have moved. */
  #add(added: Leaf[]): number {
    if (added.length === 0) return this.#leaves.length;
    added.sort(compare);
    const from = this.#indexOf(added[0]!);
    const moved = [...this.#leaves.slice(from), ...added].sort(compare);
    this.#leaves = [...this.#leaves.slice(0, from), ...moved];
    return from;
  }

  /** Computes the nodes above the given leaves, and above all leaves from an index on. */
  #rehash(leaves: readonly number[], from: number): void {
    let [below, changed, start] = [this.#leaves.map(({ hash }) => hash), leaves, from];
    let level = 0;
    for (; below.length > 1; level++) {
      const count = Math.ceil(below.length / 2);
      const nodes = this.#levels[level] ?? [];
      nodes.length = count;
      // The last node may have gained or lost its sibling, so it is always computed.
      start = Math.min(Math.floor(start / 2), count - 1);
      changed = [...new Set(changed.map((at) => Math.floor(at / 2)))].filter((at) => at < start);
      const hash = (at: number) => {
        nodes[at] = nodeOf(below[2 * at]!, below[2 * at + 1]);
      };
      for (const at of changed) hash(at);
      for (let at = start; at < count; at++) hash(at);
      this.#levels[level] = nodes;
      below = nodes;
    }
    this.#levels.length = level;
  }

  /** Returns the index of a run, or the index at which it would be inserted. */
  #indexOf(leaf: Leaf): number {
    let [low, high] = [0, this.#leaves.length];
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(this.#leaves[middle]!, leaf) < 0) low = middle + 1;
      else high = middle;
    }
    return low;
  }
}

function leafOf(point: RunPoint): Leaf {
  return { tenant: Buffer.from(point.tenantId), run: Buffer.from(point.runId), hash: leafOfPoint(point) };
}

function compare(a: Leaf, b: Leaf): number {
  return Buffer.compare(a.tenant, b.tenant) || Buffer.compare(a.run, b.run);
}
