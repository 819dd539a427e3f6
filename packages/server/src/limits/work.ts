/**
 * Bounds the heavy work of each tenant that is under way at a time. A store serves its calls in the order they came: what one
 * tenant has begun already, all others have to wait for.
 */
import { LONGEST_WAIT_MS, overShare, type Shares } from './shares.ts';

/** Milliseconds of work by estimate, while the process has time left and while tenants are held to their shares. */
const MOST_MS = 150;
const MOST_PACED_MS = 10;

interface Waiting {
  cost: number;
  begin(): void;
  /** Ends the wait of one that is not patient. */
  timer?: NodeJS.Timeout;
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

  /**
   * Begins work, or returns a promise of its turn. `end` must follow with the same cost. One piece is always let through. Whoever
   * is not patient is refused after a while: a sender that stalls holds up its own tenant, and not without end.
   */
  begin(account: string, cost: number, isPatient = true): Promise<void> | undefined {
    const lane = this.#lanes.get(account) ?? { underWay: 0, waiting: [] };
    this.#lanes.set(account, lane);
    if (lane.waiting.length === 0 && this.#fits(lane, cost)) {
      lane.underWay += cost;
      return undefined;
    }
    return new Promise((begin, reject) => {
      const waiting: Waiting = { cost, begin };
      lane.waiting.push(waiting);
      if (isPatient) return;
      waiting.timer = setTimeout(() => {
        lane.waiting.splice(lane.waiting.indexOf(waiting), 1);
        reject(overShare());
      }, LONGEST_WAIT_MS);
    });
  }

  /** The next begins in a later turn of the event loop, in which others are heard first. */
  end(account: string, cost: number): void {
    const lane = this.#lanes.get(account)!;
    lane.underWay = Math.max(0, lane.underWay - cost);
    for (let next = lane.waiting[0]; next && this.#fits(lane, next.cost); next = lane.waiting[0]) {
      lane.waiting.shift();
      clearTimeout(next.timer);
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
