/**
 * Bounds the heavy work of each tenant that is under way at a time. A store serves its calls in the order they came: what one
 * tenant has begun already, all others have to wait for.
 */
import type { Shares } from './shares.ts';

/** Milliseconds of work by estimate, while the process has time left and while tenants are held to their shares. */
const MOST_MS = 150;
const MOST_PACED_MS = 10;

interface Waiting {
  cost: number;
  begin(): void;
}

interface Lane {
  underWay: number;
  waiting: Waiting[];
}

export class Work {
  readonly #shares: Shares;
  readonly #lanes = new Map<string, Lane>();

  constructor(shares: Shares) {
    this.#shares = shares;
  }

  /** Begins work, or returns a promise of its turn. `end` must follow with the same cost. One piece is always let through. */
  begin(account: string, cost: number): Promise<void> | undefined {
    const lane = this.#lanes.get(account) ?? { underWay: 0, waiting: [] };
    this.#lanes.set(account, lane);
    if (lane.waiting.length === 0 && this.#fits(lane, cost)) {
      lane.underWay += cost;
      return undefined;
    }
    return new Promise((begin) => lane.waiting.push({ cost, begin }));
  }

  /** The next begins in a later turn of the event loop, in which others are heard first. */
  end(account: string, cost: number): void {
    const lane = this.#lanes.get(account)!;
    lane.underWay = Math.max(0, lane.underWay - cost);
    for (let next = lane.waiting[0]; next && this.#fits(lane, next.cost); next = lane.waiting[0]) {
      lane.waiting.shift();
      lane.underWay += next.cost;
      setImmediate(next.begin);
    }
    if (lane.underWay < EMPTY_MS && lane.waiting.length === 0) this.#lanes.delete(account);
  }

  #fits({ underWay }: Lane, cost: number): boolean {
    return underWay < EMPTY_MS || underWay + cost <= (this.#shares.isPacing ? MOST_PACED_MS : MOST_MS);
  }
}

/** Sums of fractions do not come back to exactly zero. */
const EMPTY_MS = 0.001;
